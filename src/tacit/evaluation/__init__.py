"""What policies are worth: private estimates of values and differences. See docs/evaluation.md."""

from tacit.evaluation.candidates import as_candidates, find_problem, learned
from tacit.evaluation.design import EvaluationDesign
from tacit.evaluation.estimates import Estimate
from tacit.evaluation.evaluation import Evaluation, Subgroup, sentence
from tacit.evaluation.options import EvaluationOptions
from tacit.evaluation.private_scores import ScoreSum

__all__ = [
    "Estimate",
    "Evaluation",
    "EvaluationDesign",
    "EvaluationOptions",
    "ScoreSum",
    "Subgroup",
    "as_candidates",
    "find_problem",
    "learned",
    "sentence",
]
