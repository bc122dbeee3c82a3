"""What the paper says and reports, to set beside what comes out here: its claims, and its tables."""

from __future__ import annotations

from typing import NamedTuple

TITLE = "Efficient Optimization of Dominant Set Clustering with Frank-Wolfe Algorithms"
AUTHORS, YEAR = "Carl Johnell and Morteza Haghir Chehreghani", 2020
NUMBER, ADDRESS = "arXiv:2007.11652", "https://arxiv.org/abs/2007.11652"


class Claim(NamedTuple):
    """Something that the paper says, and the study that looks at it."""

    study: str
    text: str


CLAIMS: dict[str, Claim] = {
    "robust": Claim("synthetic", "the Frank-Wolfe variants are more robust to noise than RD, and better"),
    "settings": Claim("synthetic", "RD is more sensitive to t and δ than the Frank-Wolfe variants"),
    "better": Claim("newsgroups", "the Frank-Wolfe variants are better than RD at the same t"),
    "early": Claim("newsgroups", "PFW-V and AFW-V are very good at t = 1000 already"),
    "steady": Claim("newsgroups", "the Frank-Wolfe variants depend less on t than RD"),
    "rate": Claim("newsgroups", "RD at t = 1000 assigns all and gets nothing right: it has not converged"),
    "post": Claim("newsgroups", "scores before and after post-assignment agree"),
    "time": Claim("newsgroups", "the Frank-Wolfe variants take less time than RD at the same t"),
    "airplane": Claim("image", "the Frank-Wolfe variants separate the airplane better than RD"),
    "steps": Claim("image", "an iteration of a Frank-Wolfe variant costs far less than one of RD"),
    "passes": Claim("multistart", "about two passes are enough for four clusters"),
    "alike": Claim("multistart", "there is no significant difference between FW, PFW and AFW"),
    "afw-b": Claim("multistart", "AFW from B is slightly worse than the others"),
    "bounds": Claim("theory", "the gap stays below the bounds of Theorems 1 to 3, with the constant 2M"),
    "updates": Claim("theory", "r and f updated in linear time are those of x (Lemmas 1 to 3)"),
    "inimdyn": Claim("theory", "AFW is infection and immunisation dynamics (Proposition 1)"),
    "linear": Claim("theory", "a step costs O(n) for the Frank-Wolfe variants and O(n²) for RD"),
    "full": Claim("theory", "FW never drops an object: from the barycenter all stay in the support"),
    "vertex": Claim("theory", "a vertex is no start for RD"),
}

# (newsgroups set, method, t): seconds, assignment rate, ARI and V-measure of the assigned, ARI and V-measure
# after post-assignment of the rest
NEWSGROUPS: dict[tuple[int, str, int], tuple[float, float, float, float, float, float]] = {
    (1, "FW", 1000): (0.36, 0.6325, 0.4695, 0.5388, 0.4068, 0.4969),
    (1, "FW", 4000): (1.35, 0.6885, 0.4593, 0.5224, 0.4639, 0.5225),
    (1, "FW", 8000): (2.41, 0.6969, 0.4673, 0.5325, 0.4766, 0.5351),
    (1, "PFW-B", 1000): (0.43, 0.7429, 0.1944, 0.4289, 0.2063, 0.3919),
    (1, "PFW-B", 4000): (1.86, 0.6605, 0.467, 0.5327, 0.4623, 0.5324),
    (1, "PFW-B", 8000): (2.62, 0.642, 0.471, 0.5335, 0.4356, 0.5219),
    (1, "PFW-V", 1000): (0.52, 0.6471, 0.5178, 0.5745, 0.5091, 0.5763),
    (1, "PFW-V", 4000): (1.6, 0.6487, 0.4565, 0.5237, 0.4298, 0.5149),
    (1, "PFW-V", 8000): (2.47, 0.642, 0.471, 0.5335, 0.4356, 0.5219),
    (1, "AFW-B", 1000): (0.35, 0.8527, 0.076, 0.2854, 0.0966, 0.2751),
    (1, "AFW-B", 4000): (1.69, 0.6258, 0.3887, 0.5316, 0.3162, 0.4806),
    (1, "AFW-B", 8000): (2.93, 0.6599, 0.4676, 0.5328, 0.4615, 0.5319),
    (1, "AFW-V", 1000): (0.46, 0.6415, 0.5184, 0.5736, 0.5066, 0.5744),
    (1, "AFW-V", 4000): (1.38, 0.6482, 0.518, 0.5754, 0.5047, 0.5719),
    (1, "AFW-V", 8000): (2.75, 0.6476, 0.4618, 0.5257, 0.4308, 0.5148),
    (1, "RD", 1000): (1.06, 1.0, 0.0, 0.0, 0.0, 0.0),
    (1, "RD", 4000): (4.56, 0.9081, 0.1852, 0.3003, 0.1892, 0.3042),
    (1, "RD", 8000): (11.4, 0.6997, 0.4121, 0.5384, 0.3659, 0.4937),
    (2, "FW", 1000): (0.37, 0.6587, 0.5594, 0.5929, 0.5158, 0.5733),
    (2, "FW", 4000): (1.38, 0.6674, 0.5479, 0.5866, 0.5084, 0.5699),
    (2, "FW", 8000): (2.6, 0.6679, 0.5473, 0.5864, 0.5084, 0.5699),
    (2, "PFW-B", 1000): (0.45, 0.7508, 0.135, 0.3555, 0.178, 0.3814),
    (2, "PFW-B", 4000): (1.57, 0.6172, 0.6257, 0.6364, 0.5332, 0.5834),
    (2, "PFW-B", 8000): (2.06, 0.6172, 0.6257, 0.6364, 0.5332, 0.5834),
    (2, "PFW-V", 1000): (0.59, 0.6281, 0.6095, 0.6241, 0.5331, 0.5824),
    (2, "PFW-V", 4000): (1.85, 0.6172, 0.6257, 0.6364, 0.5332, 0.5834),
    (2, "PFW-V", 8000): (3.1, 0.6172, 0.6257, 0.6364, 0.5332, 0.5834),
    (2, "AFW-B", 1000): (0.41, 0.8653, 0.0979, 0.316, 0.131, 0.344),
    (2, "AFW-B", 4000): (1.9, 0.6172, 0.6257, 0.6364, 0.5332, 0.5834),
    (2, "AFW-B", 8000): (3.39, 0.6172, 0.6257, 0.6364, 0.5332, 0.5834),
    (2, "AFW-V", 1000): (0.48, 0.663, 0.5548, 0.5907, 0.5099, 0.5699),
    (2, "AFW-V", 4000): (1.75, 0.6172, 0.6257, 0.6364, 0.5332, 0.5834),
    (2, "AFW-V", 8000): (3.38, 0.6172, 0.6257, 0.6364, 0.5332, 0.5834),
    (2, "RD", 1000): (0.76, 1.0, 0.0, 0.0, 0.0, 0.0),
    (2, "RD", 4000): (4.67, 1.0, 0.1795, 0.333, 0.1795, 0.333),
    (2, "RD", 8000): (13.52, 0.7585, 0.4391, 0.5161, 0.4123, 0.5065),
    (3, "FW", 1000): (0.41, 0.6756, 0.5206, 0.5879, 0.5751, 0.595),
    (3, "FW", 4000): (1.35, 0.6468, 0.5309, 0.5975, 0.572, 0.5962),
    (3, "FW", 8000): (2.63, 0.6473, 0.5314, 0.5978, 0.5729, 0.5972),
    (3, "PFW-B", 1000): (0.49, 0.758, 0.217, 0.4617, 0.2764, 0.4859),
    (3, "PFW-B", 4000): (1.79, 0.6468, 0.5317, 0.6004, 0.5734, 0.5992),
    (3, "PFW-B", 8000): (2.88, 0.6468, 0.5317, 0.6004, 0.5734, 0.5992),
    (3, "PFW-V", 1000): (0.56, 0.6468, 0.5317, 0.6004, 0.5734, 0.5992),
    (3, "PFW-V", 4000): (1.96, 0.6468, 0.5317, 0.6004, 0.5734, 0.5992),
    (3, "PFW-V", 8000): (3.71, 0.6468, 0.5317, 0.6004, 0.5734, 0.5992),
    (3, "AFW-B", 1000): (0.37, 0.8373, 0.1381, 0.3594, 0.1782, 0.3967),
    (3, "AFW-B", 4000): (1.83, 0.6462, 0.5316, 0.6003, 0.5734, 0.5992),
    (3, "AFW-B", 8000): (3.19, 0.6468, 0.5317, 0.6004, 0.5734, 0.5992),
    (3, "AFW-V", 1000): (0.49, 0.6468, 0.5322, 0.5993, 0.5741, 0.5983),
    (3, "AFW-V", 4000): (1.63, 0.6468, 0.5317, 0.6004, 0.5734, 0.5992),
    (3, "AFW-V", 8000): (2.99, 0.6468, 0.5317, 0.6004, 0.5734, 0.5992),
    (3, "RD", 1000): (0.86, 1.0, 0.0, 0.0, 0.0, 0.0),
    (3, "RD", 4000): (4.69, 0.9089, 0.2212, 0.3465, 0.2394, 0.3575),
    (3, "RD", 8000): (12.9, 0.8012, 0.3526, 0.4556, 0.4227, 0.4973),
    (4, "FW", 1000): (0.42, 0.653, 0.5097, 0.5706, 0.4663, 0.5252),
    (4, "FW", 4000): (1.38, 0.6169, 0.4672, 0.5437, 0.4409, 0.5084),
    (4, "FW", 8000): (2.6, 0.7002, 0.5014, 0.5514, 0.4973, 0.5396),
    (4, "PFW-B", 1000): (0.43, 0.8092, 0.2247, 0.4483, 0.288, 0.4878),
    (4, "PFW-B", 4000): (1.82, 0.6697, 0.6211, 0.6484, 0.587, 0.6094),
    (4, "PFW-B", 8000): (3.04, 0.6697, 0.6211, 0.6484, 0.587, 0.6094),
    (4, "PFW-V", 1000): (0.58, 0.6591, 0.6446, 0.6717, 0.605, 0.6226),
    (4, "PFW-V", 4000): (2.02, 0.6565, 0.6462, 0.675, 0.6072, 0.6268),
    (4, "PFW-V", 8000): (2.74, 0.6565, 0.6462, 0.675, 0.6072, 0.6268),
    (4, "AFW-B", 1000): (0.35, 0.9041, 0.1109, 0.3361, 0.1313, 0.3577),
    (4, "AFW-B", 4000): (1.87, 0.6687, 0.6191, 0.6463, 0.588, 0.6097),
    (4, "AFW-B", 8000): (3.55, 0.6697, 0.6211, 0.6484, 0.587, 0.6094),
    (4, "AFW-V", 1000): (0.5, 0.6525, 0.5071, 0.5651, 0.4592, 0.5183),
    (4, "AFW-V", 4000): (1.84, 0.6565, 0.6462, 0.675, 0.6072, 0.6268),
    (4, "AFW-V", 8000): (3.6, 0.6565, 0.6462, 0.675, 0.6072, 0.6268),
    (4, "RD", 1000): (0.93, 1.0, 0.0, 0.0, 0.0, 0.0),
    (4, "RD", 4000): (5.46, 1.0, 0.3197, 0.4112, 0.3197, 0.4112),
    (4, "RD", 8000): (14.52, 0.8559, 0.4528, 0.5328, 0.4858, 0.5556),
}
