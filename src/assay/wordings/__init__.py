"""Every sentence in English and Chinese, a module for each part of the program: key -> (English, Chinese)."""

from __future__ import annotations

from assay.wordings.answers import ANSWERS
from assay.wordings.experiment import EXPERIMENT
from assay.wordings.general import GENERAL
from assay.wordings.report import REPORT
from assay.wordings.serving import SERVING
from assay.wordings.validation import VALIDATION

PARTS = (GENERAL, ANSWERS, EXPERIMENT, REPORT, SERVING, VALIDATION)
WORDINGS = {key: wording for part in PARTS for key, wording in part.items()}
