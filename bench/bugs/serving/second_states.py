"""A second set of recurrences and decoders with positions on three axes, and bugs of each: names are `class_bug`.

A bug stands with what it is and the families that a report may name first; both were written before it was tried.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import torch

import regard

SUBJECTS, NOTES, FAMILIES = {}, {}, {}


def add(name: str, build: Callable[[str | None], Any], bugs: dict[str, tuple[str, str]]) -> None:
    """The correct subject of a class and its bugs: what is wrong, and the families that may be named."""
    SUBJECTS[name], NOTES[name], FAMILIES[name] = build(None), None, ()
    for bug, (note, families) in bugs.items():
        key = f"{name}_{bug}"
        SUBJECTS[key], NOTES[key], FAMILIES[key] = build(bug), note, tuple(families.split())


# -- mamba2: token by token, in chunks of 8, packed --------------------------------------------------------------------
SIZE = 8


def empty_state(x, b):
    return x.new_zeros(x.shape[0], x.shape[2], x.shape[3], b.shape[-1])


class Mamba:
    """State [batch, head, value, N]."""

    def __init__(self, bug):
        self.bug, self.kept = bug, {}

    def __call__(self, x, dt, a, b, c, state=None, mask=None):
        if self.bug == "one_rate":
            a = a[:1].expand_as(a)
        if self.bug == "state_kept" and state is None:
            state = self.kept.setdefault((x.shape[0], x.shape[2]), empty_state(x, b))
        state = empty_state(x, b) if state is None else state
        outputs = []
        for t in range(x.shape[1]):
            decay = (dt[:, t] * a).exp()
            if self.bug == "half_decay":
                decay = decay.to(torch.bfloat16).to(x.dtype)
            new = state * decay[..., None, None] + torch.einsum("bhv,bn->bhvn", x[:, t] * dt[:, t, :, None], b[:, t])
            if mask is not None:
                if self.bug == "mask_on_input_only":
                    new = torch.where(mask[:, t, None, None, None], new, state * decay[..., None, None])
                elif self.bug != "mask_on_output":
                    new = torch.where(mask[:, t, None, None, None], new, state)
            state = (state.copy_(new) if not torch.is_grad_enabled() else new) if self.bug == "state_kept" else new
            outputs.append(torch.einsum("bhvn,bn->bhv", state, c[:, t]))
        y = torch.stack(outputs, 1)
        if mask is not None and self.bug == "mask_on_output":
            y = torch.where(mask[:, :, None, None], y, torch.zeros_like(y))
        return y, state


def chunked(x, dt, a, b, c, state=None, bug=None):
    state = empty_state(x, b) if state is None else state
    outputs = []
    for start in range(0, x.shape[1], SIZE):
        xs, ds, bs, cs = (part[:, start : start + SIZE] for part in (x, dt, b, c))
        total = (ds * a).cumsum(1)  # [batch, time, head]
        entered = xs * (1 if bug == "step_outside" and start else ds[..., None])
        gaps = total[:, :, None] - total[:, None]
        n = xs.shape[1]
        seen = torch.ones(n, n, dtype=torch.bool).tril()[None, :, :, None]
        weights = torch.where(seen, gaps.masked_fill(~seen, 0).exp(), torch.zeros_like(gaps))
        inside = torch.einsum("bin,bjn,bijh,bjhv->bihv", cs, bs, weights, xs * ds[..., None])
        into = total - (ds * a) if bug == "first_decay_missing" else total
        across = torch.einsum("bin,bhvn,bih->bihv", cs, state, into.exp())
        outputs.append(inside + across)
        left = (total[:, -1:] - total).exp()
        added = torch.einsum("bjhv,bjn,bjh->bhvn", entered, bs, left)
        if bug == "tail_not_kept" and n < SIZE:
            break
        state = added + (state if bug == "chunk_decay_missing" else state * total[:, -1].exp()[..., None, None])
    return torch.cat(outputs, 1), state


def packed(x, dt, a, b, c, cu_seqlens, state=None, bug=None):
    borders = cu_seqlens.tolist()
    count = len(borders) - 1
    outputs, states = [], []
    previous = None
    for document, (start, stop) in enumerate(itertools.pairwise(borders)):
        if state is None:
            own = empty_state(x, b)
        else:
            own = state[count - 1 - document if bug == "states_reversed" else document][None]
        if bug == "reset_on_chunks" and start % SIZE and previous is not None:
            own = previous
        if bug == "empty_takes_previous" and start == stop and previous is not None:
            own = previous
        if bug == "empty_starts_anew" and start == stop:
            own = torch.zeros_like(own)
        y, own = (
            chunked(x[:, start:stop], dt[:, start:stop], a, b[:, start:stop], c[:, start:stop], own)
            if (stop > start)
            else (x[:, start:stop], own)
        )
        outputs.append(y)
        states.append(own)
        previous = own
    return torch.cat(outputs, 1), torch.cat(states)


add(
    "second_mamba2",
    lambda bug: regard.Recurrence(
        name="mamba2",
        function=Mamba(bug),
        kind="mamba2",
        chunked=functools.partial(chunked, bug=bug),
        chunk_size=SIZE,
        packed=functools.partial(packed, bug=bug),
    ),
    {
        "one_rate": ("all heads decay like the first", "update"),
        "half_decay": ("decays are rounded to bfloat16", "update precision"),
        "state_kept": ("new sequences start from a buffer that is written to", "state in-place"),
        "mask_on_output": ("padding is hidden in the outputs only", "padding"),
        "mask_on_input_only": ("padding still decays the state", "padding"),
        "step_outside": ("dt is left out of what later chunks add to the state", "chunk"),
        "first_decay_missing": ("a given state is not decayed by the token itself", "chunk"),
        "tail_not_kept": ("a last short chunk does not enter the state", "chunk"),
        "chunk_decay_missing": ("the state is not decayed over a chunk", "chunk"),
        "states_reversed": ("documents take the given states in reverse", "varlen"),
        "reset_on_chunks": ("states are reset at borders of chunks only", "varlen"),
        "empty_takes_previous": ("an empty document returns the state of the one before", "varlen"),
        "empty_starts_anew": ("an empty document loses its given state", "varlen"),
    },
)


# -- positions on three axes -------------------------------------------------------------------------------------------
WIDTH, HEADS = 32, 2
RATES = 100.0 ** (-torch.arange(8, dtype=torch.float32) / 8)
AXIS = torch.tensor([0, 0, 1, 1, 1, 2, 2, 2])
DRAWN = torch.Generator().manual_seed(11)
WEIGHTS = [torch.randn(WIDTH, WIDTH, generator=DRAWN) / WIDTH**0.5 * factor for factor in (2, 2, 1)]


def turned(x, positions, axis):  # x [batch, time, head, 16], positions [3, batch, time]
    angles = positions[axis].permute(1, 2, 0).to(x.dtype)[:, :, None] * RATES
    a, b = x[..., :8], x[..., 8:]
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


class Decoder:
    """Cache: rotated keys, values and the next position of each row."""

    def __init__(self, bug):
        self.bug, self.next = bug, None

    def __call__(self, x, positions=None, cache=None):
        batch, length, _ = x.shape
        bug = self.bug
        k_old, v_old, at = cache if cache is not None else (None, None, torch.zeros(batch, dtype=torch.long))
        if bug == "kept_on_model" and cache is not None and self.next is not None and len(self.next) == batch:
            at = self.next
        if positions is None:
            steps = torch.zeros(length, dtype=torch.long) if bug == "one_step" and cache is not None else None
            steps = torch.arange(length) if steps is None else steps
            positions = (at[:, None] + steps).expand(3, -1, -1)
            if bug == "text_on_time_only" and cache is None:
                positions = positions * torch.tensor([1, 0, 0])[:, None, None]
        elif bug == "third_axis_ignored":
            positions = torch.stack([positions[0], positions[1], positions[1]])
        count = length + (0 if k_old is None else k_old.shape[1])
        largest = positions.amax((0, 2)) + 1
        if bug == "counts_tokens":
            largest = torch.full_like(largest, count)
        if bug == "last_token":
            largest = positions[:, :, -1].amax(0) + 1
        if bug == "time_axis":
            largest = positions[0].amax(-1) + 1
        if bug == "row_zero":
            largest = largest[:1].expand_as(largest)
        if bug == "not_one_more" and cache is None:
            largest = largest - 1
        if bug == "not_moved" and cache is not None and length > 1:
            largest = at + 1
        self.next = largest
        q, k, v = ((x @ weight).view(batch, length, HEADS, 16) for weight in WEIGHTS)
        swapped = AXIS[[0, 1, 5, 6, 7, 2, 3, 4]]
        q = turned(q, positions, AXIS)
        k = turned(k, positions, swapped if bug == "axes_exchanged" else AXIS)
        if k_old is not None and v_old is not None:
            k, v = torch.cat([k_old, k], 1), torch.cat([v_old, v], 1)
        z = torch.einsum("bqhd,bkhd->bhqk", q, k) / 4
        seen = torch.arange(count)[None] <= count - length + torch.arange(length)[:, None]
        y = torch.einsum("bhqk,bkhd->bqhd", z.masked_fill(~seen, -torch.inf).softmax(-1), v)
        return x + y.flatten(2), (k, v, largest)


add(
    "second_axes",
    lambda bug: regard.CachedDecoder(name="decoder", function=Decoder(bug), axes=3),
    {
        "kept_on_model": ("the next position is kept on the model", "state positions"),
        "one_step": ("tokens of a later call share one position", "positions cache"),
        "text_on_time_only": ("positions that are not given are on the axis of time only", "positions"),
        "third_axis_ignored": ("the third axis is ignored", "positions"),
        "counts_tokens": ("decoding goes on from the number of tokens", "positions"),
        "last_token": ("decoding goes on from the last token instead of the largest position", "positions"),
        "time_axis": ("decoding goes on from the axis of time", "positions"),
        "row_zero": ("all rows go on from the first row's position", "positions"),
        "not_one_more": ("decoding repeats the largest position", "positions cache"),
        "not_moved": ("a later call with several tokens moves the position by one", "positions cache"),
        "axes_exchanged": ("keys have height and width exchanged", "positions"),
    },
)
