"""Expressions evaluated on an instance: shapes are checked on the way, symbols looked up in the scope."""

from collections.abc import Mapping
from typing import ClassVar

from regard.derivations.judging.evaluation import Evaluation, Rule
from regard.derivations.judging.functions import FUNCTIONS
from regard.derivations.judging.leaves import LEAVES
from regard.derivations.judging.operations import OPERATIONS
from regard.derivations.notation.syntax import Expression


class Evaluator(Evaluation):
    """An evaluation with a rule for every kind of expression that has a value."""

    RULES: ClassVar[Mapping[type[Expression], Rule]] = {**LEAVES, **OPERATIONS, **FUNCTIONS}
