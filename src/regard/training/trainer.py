"""One model in training: its steps, and the state needed to resume them."""

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor
from torch.optim import AdamW, Optimizer

from regard.core.axes import Int
from regard.training.data.batches import SHARED, BatchStream, PackedRow, StreamPosition, TokenBatch, make_batch
from regard.training.data.lessons import Lesson
from regard.training.loss import CandidateSample, CandidateSampler, PredictionTargets, prediction_loss
from regard.training.model import Decoder, ModelInput
from regard.training.optimizers import Muon, RowAdam
from regard.training.process_group import ProcessGroup
from regard.training.recipe import RunPlan, Stage

_BETAS = (0.9, 0.95)
# Gradients below this are rounding errors, which depend on the number of processes and should not be amplified.
_EPS = 1e-7
# A stream of random numbers separate from that of the batches.
_DRAWS = zlib.crc32(b"draws")


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """The result of a step, over all processes. With sampled candidates, the loss is estimated and slightly low."""

    step: int
    stage: str
    loss: float
    tokens: int
    seconds: float


class Trainer:
    """A model, its optimizers and its batches. Two trainers with the same plan make bit-identical steps."""

    def __init__(
        self,
        plan: RunPlan,
        lessons: Sequence[Lesson],
        group: ProcessGroup,
        embedding_ids: Int[np.ndarray, " token"] | None,
    ) -> None:
        self.plan, self.group, self.step = plan, group, 0
        torch.manual_seed(plan.seed)
        self.model = Decoder(plan.model_config, embedding_ids)
        self.dtype = getattr(torch, plan.precision)
        self._lessons, self._recipe = lessons, plan.recipe.over(plan.steps)
        self.stream = BatchStream(lessons, self._recipe, plan.seed)
        candidates = plan.recipe.batch.num_candidates(plan.vocab_size)
        self._sampler = CandidateSampler(lessons, vocab_size=plan.vocab_size, size=candidates)
        self._ends = np.cumsum(plan.recipe.stage_steps(plan.steps))
        self._optimizers = self._make_optimizers(plan.recipe.stages[0])

    @property
    def stage(self) -> int:
        """The stage that the next step belongs to."""
        return min(int(np.searchsorted(self._ends, self.step, side="right")), len(self._ends) - 1)

    def advance(self) -> StepReport:
        """Makes one step: the gradient of a batch, summed over the processes, updates the weights."""
        begun, number = time.perf_counter(), self.stage
        stage = self.plan.recipe.stages[number]
        if number and self.step == self._ends[number - 1]:
            self._optimizers = self._make_optimizers(stage)
        rows = self.stream.next_rows(number)
        total = sum(example.weight for row in rows for example in row.examples)
        torch.manual_seed(hash((self.plan.seed, self.step, self.group.rank)) % 2**63)
        candidates = self._sampler.draw(rows, np.random.default_rng([self.plan.seed, self.step, _DRAWS]))
        loss = self._add_gradients(rows[self.group.rank :: self.group.size], candidates, total)
        self.group.sum_gradients(self.model)
        self._update(stage, number)
        self.step += 1
        return StepReport(
            step=self.step,
            stage=stage.name,
            loss=self.group.sum_number(loss),
            tokens=sum(len(row) for row in rows),
            seconds=time.perf_counter() - begun,
        )

    def tensors(self) -> dict[str, Tensor]:
        """The weights and the state of the optimizers, by name."""
        kept = {f"model.{name}": tensor.detach() for name, tensor in self.model.named_parameters()}
        names: dict[Tensor, str] = {parameter: name for name, parameter in self.model.named_parameters()}
        for optimizer in self._optimizers:
            for parameter, state in optimizer.state.items():
                kept |= {f"state.{names[parameter]}.{key}": value for key, value in state.items()}
        return {name: tensor.contiguous() for name, tensor in kept.items()}

    def position(self) -> dict[str, int]:
        """The step and the position of the batch stream."""
        return {"step": self.step, **asdict(self.stream.position)}

    def restore(self, tensors: Mapping[str, Tensor], position: Mapping[str, int]) -> None:
        """Restores a state given by `tensors()` and `position()`."""
        self.step = position["step"]
        at = StreamPosition(stage=position["stage"], passed=position["passed"], row=position["row"])
        self.stream = BatchStream(self._lessons, self._recipe, self.plan.seed, at)
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

    def _add_gradients(self, rows: Sequence[PackedRow], candidates: CandidateSample, total: float) -> float:
        """Computes the gradients, some rows at a time; returns this process's part of the loss."""
        self.model.train()
        shape = self.plan.recipe.batch
        some = shape.rows_at_once(self.group.size)
        return sum(
            self._backpropagate(make_batch(rows[first : first + some], shape.length), candidates, total)
            for first in range(0, len(rows), some)
        )

    def _backpropagate(self, batch: TokenBatch, candidates: CandidateSample, total: float) -> float:
        rows, owners = np.unique(batch.asked, return_inverse=True)
        hidden = self.model(batch_input(batch), dtype=self.dtype)
        asked = hidden.flatten(0, 1)[torch.from_numpy(rows)]
        loss = prediction_loss(
            asked,
            self.model.head_matrix.index_select(0, torch.from_numpy(candidates.tokens)),
            torch.from_numpy(candidates.log_counts),
            PredictionTargets(
                owners=torch.from_numpy(owners),
                targets=torch.from_numpy(candidates.places(batch.targets)),
                weights=torch.from_numpy(batch.weights) / total,
            ),
        )
        loss.backward()
        return loss.item()

    def _update(self, stage: Stage, number: int) -> None:
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
        """Muon for the matrices of blocks, row-wise Adam for n-grams, and Adam for the rest."""
        rates = stage.rates
        ngrams = [] if self.model.ngrams is None else [self.model.ngrams.rows.weight]
        others = {n: p for n, p in self.model.named_parameters() if not any(p is table for table in ngrams)}
        matrices = {n: p for n, p in others.items() if n.startswith("blocks.") and p.ndim == 2}
        rest = [p for n, p in others.items() if n not in matrices]
        groups = [{"params": rest, "lr": rates.table, "full_rate": rates.table}]
        optimizers: list[Optimizer] = []
        if rates.has_muon:
            config = self.plan.model_config
            joined = [config.width, *2 * [config.kv_heads * config.head_width]]
            pieces = {n: joined if n.endswith("attention.project.weight") else None for n in matrices}
            blocks = [{"params": [p], "pieces": pieces[n], "full_rate": rates.matrix} for n, p in matrices.items()]
            optimizers.append(Muon(blocks, lr=rates.matrix, dtype=self.dtype, share_tasks=self.group.share_tasks))
        else:
            groups.append({"params": list(matrices.values()), "lr": rates.matrix, "full_rate": rates.matrix})
        optimizers.append(AdamW(groups, betas=_BETAS, eps=_EPS, weight_decay=rates.weight_decay, fused=True))
        if ngrams:
            groups = [{"params": ngrams, "full_rate": rates.ngram}]
            optimizers.append(RowAdam(groups, lr=rates.ngram, betas=_BETAS, eps=_EPS))
        return optimizers


def batch_input(batch: TokenBatch) -> ModelInput:
    """A batch as the model reads it.

    A token sees the opening of its row and, of its own example, the tokens before it in the head or its own segment.
    """
    documents, groups = torch.from_numpy(batch.documents), torch.from_numpy(batch.groups)
    same = (documents[:, :, None] == documents[:, None, :]) | (documents == SHARED)[:, None, :]
    near = (groups[:, None, :] == 0) | (groups[:, None, :] == groups[:, :, None])
    return ModelInput(
        tokens=torch.from_numpy(batch.tokens),
        positions=torch.from_numpy(batch.positions),
        visible=(same & near).tril_(),
        before=torch.from_numpy(batch.before),
    )
