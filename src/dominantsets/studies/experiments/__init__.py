"""The paper's studies, with its settings, each beside what the paper reports.

Built from the public API only. ``STUDIES`` holds them by name; :func:`run_study` works through one of them
and keeps what is done, so that a stopped run resumes.
"""

from dominantsets.studies.experiments import family, image, multistarts, newsgroups, synthetic, theory
from dominantsets.studies.experiments._common import Study, StudyError, run_study, settings_of

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        synthetic.STUDY,
        newsgroups.STUDY,
        image.STUDY,
        multistarts.STUDY,
        theory.STUDY,
        family.STUDY,
    )
}

__all__ = ["STUDIES", "Study", "StudyError", "run_study", "settings_of"]
