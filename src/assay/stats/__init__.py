"""Statistics: arrays in, frozen records out; randomness only through `rng`, a seed."""

from assay.stats.agreement import (
    Agreement,
    Confusion,
    confusion_matrix,
    kappa,
    kendall_tau,
    krippendorff_alpha,
    spearman,
)
from assay.stats.arms import (
    Arm,
    Lift,
    arm_from_sums,
    arm_of,
    excess,
    lift,
    pool_arms,
    share_excess,
    share_lift,
    user_deviation,
)
from assay.stats.bounded import BoundedEquivalence, bounded_equivalence, bounded_pvalue, upper_bound
from assay.stats.discrimination import auroc, auroc_difference, balanced_accuracy, best_threshold
from assay.stats.effects import Effect, WinsTiesLosses, cohen_dz, superiority, wins_ties_losses
from assay.stats.inputs import paired_differences
from assay.stats.intervals import (
    Interval,
    difference_interval,
    mean_interval,
    mean_intervals,
    needed_for_quantile,
    proportion_interval,
    quantile_interval,
)
from assay.stats.moments import Moments, Weighing, moments, weighing
from assay.stats.multiplicity import adjust, benjamini_hochberg, bonferroni, corrected_level, holm
from assay.stats.power import Design, Power, design, detectable_difference, paired_power, sample_size
from assay.stats.prediction_powered import PredictionPowered, prediction_powered_mean
from assay.stats.relative import relative_interval
from assay.stats.signflip import SignFlip, sign_flip
from assay.stats.signs import McNemar, SignTest, mcnemar, sign_test, wilcoxon
from assay.stats.trials import (
    SampleRatio,
    TrialPower,
    confidence_sequence,
    lift_shown,
    sample_ratio,
    trial_power,
    users_needed,
)
from assay.stats.ttests import Equivalence, TTest, equivalence, paired_t
from assay.stats.tukey import Tukey, compact_letters, randomised_tukey

__all__ = [
    "Agreement",
    "Arm",
    "BoundedEquivalence",
    "Confusion",
    "Design",
    "Effect",
    "Equivalence",
    "Interval",
    "Lift",
    "McNemar",
    "Moments",
    "Power",
    "PredictionPowered",
    "SampleRatio",
    "SignFlip",
    "SignTest",
    "TTest",
    "TrialPower",
    "Tukey",
    "Weighing",
    "WinsTiesLosses",
    "adjust",
    "arm_from_sums",
    "arm_of",
    "auroc",
    "auroc_difference",
    "balanced_accuracy",
    "benjamini_hochberg",
    "best_threshold",
    "bonferroni",
    "bounded_equivalence",
    "bounded_pvalue",
    "cohen_dz",
    "compact_letters",
    "confidence_sequence",
    "confusion_matrix",
    "corrected_level",
    "design",
    "detectable_difference",
    "difference_interval",
    "equivalence",
    "excess",
    "holm",
    "kappa",
    "kendall_tau",
    "krippendorff_alpha",
    "lift",
    "lift_shown",
    "mcnemar",
    "mean_interval",
    "mean_intervals",
    "moments",
    "needed_for_quantile",
    "paired_differences",
    "paired_power",
    "paired_t",
    "pool_arms",
    "prediction_powered_mean",
    "proportion_interval",
    "quantile_interval",
    "randomised_tukey",
    "relative_interval",
    "sample_ratio",
    "sample_size",
    "share_excess",
    "share_lift",
    "sign_flip",
    "sign_test",
    "spearman",
    "superiority",
    "trial_power",
    "upper_bound",
    "user_deviation",
    "users_needed",
    "weighing",
    "wilcoxon",
    "wins_ties_losses",
]
