"""One law on one layer, with everything that a failure should teach: diagnosis, command, stand-alone test."""

from dataclasses import dataclass, replace

from regard.conformance.diagnosis import diagnose
from regard.conformance.judging import judge
from regard.conformance.law import Comparison, InputSize, Law, LawTrial
from regard.conformance.orders import Order, command_for
from regard.conformance.reproduction import Recipe, written_test
from regard.conformance.subject import Subject
from regard.conformance.verdict import LawVerdict


@dataclass(frozen=True, kw_only=True)
class Hearing:
    """A layer, how it is built, and the order that brought it here."""

    subject: Subject
    recipe: Recipe
    order: Order


def tried(law: Law, hearing: Hearing, *, seed: int | None = None) -> LawVerdict:
    """The verdict; a failure comes with the command that shows it again and with a test that does not need Regard."""
    subject, order = hearing.subject, hearing.order
    seed = order.seed if seed is None else seed
    sizes: list[InputSize] = []

    def noting(law: Law, trial: LawTrial, finding: Comparison) -> tuple[str, ...]:
        sizes.append(trial.size)
        return diagnose(law, trial, finding)

    verdict = judge(law, subject, seed=seed, diagnose=noting)
    if order.target:
        verdict = replace(verdict, reproduce=command_for(replace(order, seed=seed), law.id))
    if not sizes:
        return verdict
    trial = LawTrial(subject=subject, size=sizes[-1], seed=seed)
    return replace(verdict, reproduction=written_test(law, trial, verdict, hearing.recipe))
