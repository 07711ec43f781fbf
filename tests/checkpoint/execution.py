"""Run a plan for real: every iteration, every snapshot, every rebuild, with the bytes of each as they come and go.

Independent of the closed forms and of `verify`: what it counts is what they have to say.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from sdfgad.checkpoint.modes import segment_length
from sdfgad.checkpoint.revolve import ADVANCE, RESTORE, SNAPSHOT, TURN, actions
from sdfgad.checkpoint.schedule import FORWARD, REVERSE


@dataclass
class Run:
    """What was kept for the reverse of one run of a loop."""

    records: dict[int, dict] = field(default_factory=dict)
    snapshots: set[int] = field(default_factory=set)
    actions: object = None


class Execution:
    def __init__(self, problem, plan):
        self.p, self.plan = problem, plan
        self.live, self.peak, self.seconds = 0, 0, 0.0
        self.copies: dict[str, bool] = {}
        self.recorded: list[tuple[str | None, frozenset]] = []
        self.used = {i.name: {b for b in i.needed} | {
            r.block for r in plan.rebuilds if i.name in (problem.item[r.item].recipe.items)} for i in problem.items}

    def run(self):
        stored = frozenset(i.name for i in self.p.items if i.loop is None and i.name in self.plan.stored)
        runs = {}
        for step in self.steps(None, FORWARD):
            blocks = (step,) if isinstance(step, int) else self.p.span(step, FORWARD)
            for item in self.p.items:
                if item.name in stored and item.born in blocks:
                    self.take(item)
            if isinstance(step, int):
                self.touch(step)
            else:
                runs[step] = self.forward(step)
        for name in stored:
            if not self.used_later(self.p.item[name], self.p.first_reverse - 1):
                self.free(self.p.item[name])
        self.reverse_body(None, runs)
        assert self.live == 0
        # One sweep that records everything is not extra.
        return self.peak, self.seconds - sum(q.seconds * self.p.visits(q.name) for q in self.p.loops)

    def take(self, item):
        self.seconds += item.store_seconds
        self.live += item.stored_bytes
        self.copies[item.name] = True

    def steps(self, region, phase):
        """Blocks and inner loops of a region, in order."""
        found = []
        for b in self.p.span(region, phase):
            inner = self.p.chain(self.p.blocks[b].loop)[len(self.p.chain(region)):]
            step = inner[0] if inner else b
            if step not in found[-1:]:
                found.append(step)
        return found

    def touch(self, block):
        self.peak = max(self.peak, self.live + self.p.blocks[block].base_bytes)

    def plain(self, loop, count):
        self.seconds += count * self.p.loop[loop].seconds

    def snapshot(self, loop, run, slot):
        self.seconds += self.p.loop[loop].snapshot_seconds
        if slot not in run.snapshots:
            self.live += self.p.loop[loop].state_bytes
            run.snapshots.add(slot)

    def restore(self, loop, run, slot):
        assert slot in run.snapshots
        self.seconds += self.p.loop[loop].snapshot_seconds

    def record(self, loop, forward):
        """One recorded iteration; the bytes it keeps and the runs of inner loops it holds."""
        self.seconds += self.p.loop[loop].seconds
        runs = {}
        for step in self.steps(loop, FORWARD):
            if not isinstance(step, int):
                runs[step] = self.forward(step, forward)
            elif forward:
                self.touch(step)
        for item in self.p.items:
            if item.loop == loop and item.name in self.plan.stored:
                self.live += self.size(item)
                self.seconds += item.store_seconds
        return runs

    def size(self, item):
        """Bytes of one record: fewer where all iterations of the loops around it are recorded."""
        size = item.stored_bytes
        for loop, packed in zip(reversed(self.p.chain(item.loop)), item.packed):
            if self.plan.modes[loop].kind != "store all":
                break
            size = min(size, packed)
        return size

    def forward(self, loop, real=True):
        q, mode, run = self.p.loop[loop], self.plan.modes[loop], Run()
        if mode.kind == "store all":
            run.records = {t: self.record(loop, real) for t in range(q.trips)}
        elif mode.kind == "binomial":
            run.actions = actions(segment_length(q.trips, mode.length), mode.count)
            self.until_turn(loop, run, real)
        else:
            length = segment_length(q.trips, mode.count) if mode.kind == "segments" else q.trips
            for t in range(q.trips):
                if t % length == 0:
                    self.snapshot(loop, run, t // length)
                self.plain(loop, 1)
        return run

    def until_turn(self, loop, run, real):
        trips, length = self.p.loop[loop].trips, self.plan.modes[loop].length
        for a in run.actions:
            if a.kind == ADVANCE:
                self.plain(loop, (a.until - a.step) * length)
            elif a.kind == SNAPSHOT:
                self.snapshot(loop, run, a.slot)
            elif a.kind == RESTORE:
                self.restore(loop, run, a.slot)
            elif a.kind == TURN:
                part = range(a.step * length, min((a.step + 1) * length, trips))
                run.records = {t: self.record(loop, real) for t in part}
                return

    def reverse(self, loop, run):
        q, mode = self.p.loop[loop], self.plan.modes[loop]
        length = segment_length(q.trips, mode.count) if mode.kind == "segments" else 1
        for t in reversed(range(q.trips)):
            if t not in run.records:
                self.run_again(loop, run, t, length)
            self.reverse_iteration(loop, run.records.pop(t))
        assert not run.records
        self.live -= len(run.snapshots) * q.state_bytes

    def run_again(self, loop, run, t, length):
        kind = self.plan.modes[loop].kind
        if kind == "binomial":
            self.until_turn(loop, run, False)
        elif kind == "segments":
            self.restore(loop, run, t // length)
            run.records = {k: self.record(loop, False) for k in range(t // length * length, t + 1)}
        else:
            self.restore(loop, run, 0)
            self.plain(loop, t)
            run.records[t] = self.record(loop, False)

    def reverse_iteration(self, loop, runs):
        own = frozenset(i.name for i in self.p.items if i.loop == loop and i.name in self.plan.stored)
        self.recorded.append((loop, own))
        self.reverse_body(loop, runs)
        self.recorded.pop()
        self.live -= sum(self.size(self.p.item[n]) for n in own)

    def reverse_body(self, region, runs):
        mine = [i for i in self.p.items if i.loop == region]
        for step in self.steps(region, REVERSE):
            blocks = (step,) if isinstance(step, int) else self.p.span(step, REVERSE)
            # Sources first: each pass makes what it can.
            todo = [i for i in mine for r in self.plan.rebuilds if r.item == i.name and r.block == blocks[0]]
            scratch = sum(i.recipe.scratch for i in todo)
            while todo:
                item = next(i for i in todo if all(self.there(s) for s in i.recipe.items
                                                   if s not in {t.name for t in todo}) and not
                            ({t.name for t in todo} & set(i.recipe.items)))
                todo.remove(item)
                self.seconds += item.recipe.seconds
                self.free(item)
                self.copies[item.name] = False
                self.live += item.bytes
            for item in self.p.items:
                assert not set(item.needed) & set(blocks) or item.loop not in (None, *self.p.chain(region)) \
                    or self.there(item.name), item.name
            self.live += scratch
            self.touch(blocks[0])
            if not isinstance(step, int):
                self.live -= scratch
                self.reverse(step, runs[step])
                self.live += scratch
            self.live -= scratch
            for item in mine:
                if not self.used_later(item, blocks[-1]):
                    self.free(item)

    def there(self, name):
        return name in self.copies or any(name in own for _, own in self.recorded)

    def used_later(self, item, block):
        """Before it is made anew."""
        again = min((r.block for r in self.plan.rebuilds if r.item == item.name and r.block > block), default=10**9)
        return any(block < b < again for b in self.used[item.name])

    def free(self, item):
        if item.name in self.copies:
            self.live -= item.stored_bytes if self.copies.pop(item.name) else item.bytes
