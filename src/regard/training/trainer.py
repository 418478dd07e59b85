"""One model in training: a step, and everything that must be kept to go on from there."""

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor
from torch.optim import AdamW, Optimizer

from regard.core.axes import Int
from regard.training.crew import Crew
from regard.training.data.encoding import Lesson
from regard.training.data.packing import SHARED, Batch, Row, make_batch
from regard.training.loss import Wanted, prediction_loss
from regard.training.model import Decoder, Passage
from regard.training.muon import Muon
from regard.training.plan import Plan
from regard.training.recipe import Stage
from regard.training.rowwise import RowAdam
from regard.training.shortlist import Shortlist, Shortlists
from regard.training.stream import BatchStream, Place

_BETAS = (0.9, 0.95)
# Gradients below this are rounding, which differs with the number of processes and should not be blown up.
_EPS = 1e-7
# Batches draw from other random numbers.
_DRAWS = zlib.crc32(b"draws")


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """What a step did, over all processes; with few candidates the loss is that of a draw, and a little low."""

    step: int
    stage: str
    loss: float
    tokens: int
    seconds: float


class Trainer:
    """A model, its optimizers and its batches. Two trainers of one plan make the same steps, bit by bit."""

    def __init__(
        self, plan: Plan, lessons: Sequence[Lesson], crew: Crew, read_as: Int[np.ndarray, " token"] | None
    ) -> None:
        self.plan, self.crew, self.step = plan, crew, 0
        torch.manual_seed(plan.seed)
        self.model = Decoder(plan.model_config, read_as)
        self.dtype = getattr(torch, plan.precision)
        self._shown = plan.recipe.over(plan.steps)
        self.stream = BatchStream(lessons, self._shown, plan.seed)
        self._lessons = lessons
        candidates = plan.recipe.batch.num_candidates(plan.vocab_size)
        self._shortlists = Shortlists(lessons, vocab_size=plan.vocab_size, size=candidates)
        self._ends = np.cumsum(plan.recipe.stage_steps(plan.steps))
        self._optimizers = self._make_optimizers(plan.recipe.stages[0])

    @property
    def stage(self) -> int:
        """The stage that the next step belongs to."""
        return min(int(np.searchsorted(self._ends, self.step, side="right")), len(self._ends) - 1)

    def advance(self) -> StepReport:
        """One step: the gradient of a batch, summed over the crew, moves the weights."""
        begun, number = time.perf_counter(), self.stage
        stage = self.plan.recipe.stages[number]
        if number and self.step == self._ends[number - 1]:
            self._optimizers = self._make_optimizers(stage)
        rows = self.stream.next_rows(number)
        total = sum(example.weight for row in rows for example in row.examples)
        torch.manual_seed(hash((self.plan.seed, self.step, self.crew.rank)) % 2**63)
        shortlist = self._shortlists.draw(rows, np.random.default_rng([self.plan.seed, self.step, _DRAWS]))
        loss = self._gradients(rows[self.crew.rank :: self.crew.size], shortlist, total)
        self.crew.sum_gradients(self.model)
        self._move(stage, number)
        self.step += 1
        return StepReport(
            step=self.step,
            stage=stage.name,
            loss=self.crew.sum_number(loss),
            tokens=sum(len(row) for row in rows),
            seconds=time.perf_counter() - begun,
        )

    def tensors(self) -> dict[str, Tensor]:
        """The weights and what the optimizers remember, by name."""
        kept = {f"model.{name}": tensor.detach() for name, tensor in self.model.named_parameters()}
        names: dict[Tensor, str] = {parameter: name for name, parameter in self.model.named_parameters()}
        for optimizer in self._optimizers:
            for parameter, state in optimizer.state.items():
                kept |= {f"state.{names[parameter]}.{key}": value for key, value in state.items()}
        return {name: tensor.contiguous() for name, tensor in kept.items()}

    def place(self) -> dict[str, int]:
        """The step, and where the batches stand."""
        return {"step": self.step, **asdict(self.stream.place)}

    def restore(self, tensors: Mapping[str, Tensor], place: Mapping[str, int]) -> None:
        """Goes back to where `tensors` and `place` were taken."""
        self.step = place["step"]
        at = Place(stage=place["stage"], passed=place["passed"], row=place["row"])
        self.stream = BatchStream(self._lessons, self._shown, self.plan.seed, at)
        self._optimizers = self._make_optimizers(self.plan.recipe.stages[at.stage])
        parameters = dict(self.model.named_parameters())
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(tensors[f"model.{name}"])
        owners: dict[Tensor, Optimizer] = {
            parameter: optimizer
            for optimizer in self._optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        for name, tensor in tensors.items():
            if name.startswith("state."):
                owner, _, key = name.removeprefix("state.").rpartition(".")
                owners[parameters[owner]].state[parameters[owner]][key] = tensor.clone()

    def _gradients(self, rows: Sequence[Row], shortlist: Shortlist, total: float) -> float:
        """Fills the gradients, some rows at a time; gives this process's part of the loss."""
        self.model.train()
        shape = self.plan.recipe.batch
        some = shape.rows_at_once(self.crew.size)
        return sum(
            self._add_gradients(make_batch(rows[first : first + some], shape.length), shortlist, total)
            for first in range(0, len(rows), some)
        )

    def _add_gradients(self, batch: Batch, shortlist: Shortlist, total: float) -> float:
        """Adds what a batch says to the gradients; gives its part of the loss."""
        rows, owners = np.unique(batch.asked, return_inverse=True)
        hidden = self.model(passage_of(batch), dtype=self.dtype)
        asked = hidden.flatten(0, 1)[torch.from_numpy(rows)]
        loss = prediction_loss(
            asked,
            self.model.head_matrix.index_select(0, torch.from_numpy(shortlist.tokens)),
            torch.from_numpy(shortlist.log_counts),
            Wanted(
                owners=torch.from_numpy(owners),
                targets=torch.from_numpy(shortlist.places(batch.targets)),
                weights=torch.from_numpy(batch.weights) / total,
            ),
        )
        loss.backward()
        return loss.item()

    def _move(self, stage: Stage, number: int) -> None:
        start = int(self._ends[number - 1]) if number else 0
        factor = stage.rates.factor(self.step - start, int(self._ends[number]) - start)
        if stage.rates.clip:
            dense = [p for p in self.model.parameters() if p.grad is not None and not p.grad.is_sparse]
            torch.nn.utils.clip_grad_norm_(dense, stage.rates.clip)
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = factor * group["full_rate"]
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def _make_optimizers(self, stage: Stage) -> list[Optimizer]:
        """Muon for the matrices of blocks, Adam for the rest, and one that leaves unused rows alone for n-grams."""
        rates = stage.rates
        ngrams = [] if self.model.ngrams is None else [self.model.ngrams.rows.weight]
        others = {n: p for n, p in self.model.named_parameters() if not any(p is table for table in ngrams)}
        matrices = {n: p for n, p in others.items() if n.startswith("blocks.") and p.ndim == 2}
        rest = [p for n, p in others.items() if n not in matrices]
        groups = [{"params": rest, "lr": rates.table, "full_rate": rates.table}]
        optimizers: list[Optimizer] = []
        if rates.has_muon:
            pieces = [self._muon_group(name, p, rates.matrix) for name, p in matrices.items()]
            optimizers.append(Muon(pieces, lr=rates.matrix, dtype=self.dtype, share=self.crew.share))
        else:
            groups.append({"params": list(matrices.values()), "lr": rates.matrix, "full_rate": rates.matrix})
        optimizers.append(AdamW(groups, betas=_BETAS, eps=_EPS, weight_decay=rates.weight_decay, fused=True))
        if ngrams:
            groups = [{"params": ngrams, "full_rate": rates.ngram}]
            optimizers.append(RowAdam(groups, lr=rates.ngram, betas=_BETAS, eps=_EPS))
        return optimizers

    def _muon_group(self, name: str, parameter: Tensor, rate: float) -> dict:
        config = self.plan.model_config
        kv_width = config.kv_heads * config.head_width
        pieces = [config.width, kv_width, kv_width] if name.endswith("attention.project.weight") else None
        return {"params": [parameter], "pieces": pieces, "full_rate": rate}


def passage_of(batch: Batch) -> Passage:
    """A batch as the model reads it.

    A place sees those before it, of its own example, that are in the head or in its own part, and its row's opening.
    """
    documents, groups = torch.from_numpy(batch.documents), torch.from_numpy(batch.groups)
    same = (documents[:, :, None] == documents[:, None, :]) | (documents == SHARED)[:, None, :]
    near = (groups[:, None, :] == 0) | (groups[:, None, :] == groups[:, :, None])
    return Passage(
        tokens=torch.from_numpy(batch.tokens),
        positions=torch.from_numpy(batch.positions),
        visible=(same & near).tril_(),
        before=torch.from_numpy(batch.before),
    )
