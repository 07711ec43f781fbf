"""What a machine with a graphics processor can settle: results, faults, times. Without one nothing is run."""
