"""Figures that the tests of package tuning compare with, by implementations that are not ours.

    pip install scipy==1.17.1 numpy==2.4.6 statsmodels==0.15.0 kneed==0.9.0 mpmath==1.4.1
    python independent.py > independent.json

The tests read independent.json; they need no Python. scipy.stats.norm.fit over CensoredData is the interval-censored maximum
likelihood, statsmodels' OLS the lines, scipy's curve_fit the scalability law, kneed the knees, scipy's ttest_ind the changes, mpmath the tails.
"""
import csv
import json
import pathlib
import sys
import warnings

import mpmath
import numpy as np
import statsmodels.api as sm
from kneed import KneeLocator
from scipy import optimize, stats

DOCUMENT = pathlib.Path(__file__).parent / "../../csvtable/testdata/document"
CONFIDENCE = 0.95


def table(name):
    with open(DOCUMENT / name, newline="") as file:
        return list(csv.DictReader(file))


def line(x, y, at):
    x, y = np.array(x, float), np.array(y, float)
    fit = sm.OLS(y, sm.add_constant(x)).fit()
    origin = sm.OLS(y, x).fit()
    low, high = fit.conf_int(1 - CONFIDENCE)[1]
    origin_low, origin_high = origin.conf_int(1 - CONFIDENCE)[0]
    prediction = fit.get_prediction(np.array([[1.0, at]]))
    predicted_low, predicted_high = prediction.conf_int(obs=True, alpha=1 - CONFIDENCE)[0]
    return {
        "x": x.tolist(), "y": y.tolist(), "slope": fit.params[1], "intercept": fit.params[0], "r2": fit.rsquared, "low": low, "high": high,
        "through_origin": origin.params[0], "through_origin_low": origin_low, "through_origin_high": origin_high,
        "residual_deviation": float(np.sqrt(fit.mse_resid)), "at": at, "predicted": float(prediction.predicted_mean[0]),
        "predicted_low": predicted_low, "predicted_high": predicted_high,
    }


def censored_data(low, high):
    inner = np.isfinite(low) & np.isfinite(high)
    return stats.CensoredData(interval=np.column_stack([low[inner], high[inner]]), right=low[~np.isfinite(high)], left=high[~np.isfinite(low)])


def log_likelihood(mean, sigma, low, high):
    upper, lower = stats.norm.logcdf(high, mean, sigma), stats.norm.logcdf(low, mean, sigma)
    right = stats.norm.logsf(low, mean, sigma) + np.log(-np.expm1(stats.norm.logsf(high, mean, sigma) - stats.norm.logsf(low, mean, sigma)))
    left = upper + np.log(-np.expm1(lower - upper))
    return float(np.sum(np.where(lower > np.log(0.5), right, left)))


def censored(rows, capacity):
    x, low, high = (np.array(c, float) for c in zip(*rows))
    finite = np.isfinite(low) & np.isfinite(high)
    unit = float(np.ptp(np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)]])))

    def at_slope(slope):
        shifted = censored_data((low - slope * x) / unit, (high - slope * x) / unit)
        mean, sigma = stats.norm.fit(shifted, method="mle", optimizer=lambda f, x0, args, disp: optimize.fmin(f, x0, args, xtol=1e-12, ftol=1e-12, maxiter=20000, maxfun=20000, disp=0))
        return log_likelihood(mean, abs(sigma), (low - slope * x) / unit, (high - slope * x) / unit), mean * unit, abs(sigma) * unit

    def at_crossing(where):
        def negative(p):
            return -log_likelihood(p[0] * (x - where) * unit, np.exp(p[1]) * unit, low - capacity, high - capacity)
        best = min((optimize.minimize(negative, [start / unit, s], method="Nelder-Mead", options={"xatol": 1e-12, "fatol": 1e-12, "maxiter": 20000, "maxfev": 20000}).fun
                    for start in (middle, 1.3 * middle, 0.7 * middle) for s in (-2.0, -4.0, -6.0)))
        return -best

    middle = stats.linregress(x[finite], (low[finite] + high[finite]) / 2).slope
    found = optimize.minimize_scalar(lambda b: -at_slope(b)[0], bounds=(0.7 * middle, 1.7 * middle), method="bounded", options={"xatol": 1e-10})
    slope = found.x
    best, intercept, sigma = at_slope(slope)
    n = int(finite.sum())
    t = stats.t.ppf(0.5 + CONFIDENCE / 2, n - 2)
    cutoff = n * np.log1p(t * t / (n - 2))

    def bound(center, sign, profile, step):
        excess = lambda v: 2 * (best - profile(v)) - cutoff
        while excess(center + sign * step) < 0:
            step *= 1.7
        return optimize.brentq(excess, center, center + sign * step, xtol=1e-12 * max(1, abs(center)), rtol=1e-13)

    crossing = (capacity - intercept) / slope
    # Infinite ends are null in JSON.
    plain = [[None if not np.isfinite(v) else v for v in row] for row in rows]
    return {
        "rows": plain, "slope": slope, "intercept": intercept, "deviation": sigma,
        "low": bound(slope, -1, lambda b: at_slope(b)[0], 0.05 * abs(slope)), "high": bound(slope, 1, lambda b: at_slope(b)[0], 0.05 * abs(slope)),
        "capacity": capacity, "crossing": crossing,
        "crossing_low": bound(crossing, -1, at_crossing, 0.02 * abs(crossing)), "crossing_high": bound(crossing, 1, at_crossing, 0.02 * abs(crossing)),
    }


def usl(n, y):
    n, y = np.array(n, float), np.array(y, float)
    law = lambda n, rate, contention, coherency: rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1))
    p, covariance = optimize.curve_fit(law, n, y, p0=[y[0] / n[0], 0.05, 0.001], xtol=1e-15, ftol=1e-15, gtol=1e-15, maxfev=100000)
    half = stats.t.ppf(0.5 + CONFIDENCE / 2, len(n) - 3) * np.sqrt(np.diag(covariance))
    residual = y - law(n, *p)
    return {"n": n.tolist(), "y": y.tolist(), "parameters": p.tolist(), "low": (p - half).tolist(), "high": (p + half).tolist(),
            "r2": 1 - float(residual @ residual) / float(((y - y.mean()) ** 2).sum()), "peak_at": float(np.sqrt((1 - p[1]) / p[2]))}


def knees(limit=200.0):
    rows = {}
    for r in table("query-scaling-test7.csv"):
        rows.setdefault(int(r["filter_bolts"]), []).append((int(r["queries"]), float(r["average_latency_ms"])))
    curves = list(rows.values()) + [[(10, 5.0), (20, 5.5), (30, 6.0), (40, 9.0), (50, 40.0), (60, 190.0), (70, 900.0)], [(10, 5.0), (20, 10.0), (30, 20.0), (40, 40.0), (50, 80.0)]]
    out = []
    for points in curves:
        failed = [i for i, p in enumerate(points) if p[1] > limit]
        cut = points[: failed[0] + 1] if failed else points
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            knee = KneeLocator([p[0] for p in cut], np.log([p[1] for p in cut]), S=1.0, curve="convex", direction="increasing").knee
        out.append({"points": points, "limit": limit, "knee": None if knee is None else int(knee)})
    return out


def tails():
    mpmath.mp.dps = 900
    out = []
    for low, high in [(-1, 1), (0, 0.001), (3, 3.5), (-3.5, -3), (10, 10.1), (-40, -39.9), (45, 46), (-2, 30), (37.5, 37.6), (-0.001, 8)]:
        out.append({"low": low, "high": high, "log": float(mpmath.log((mpmath.erfc(mpmath.mpf(low) / mpmath.sqrt(2)) - mpmath.erfc(mpmath.mpf(high) / mpmath.sqrt(2))) / 2))})
    return out


def welch(before, after):
    test = stats.ttest_ind(after, before, equal_var=False)
    interval = test.confidence_interval(CONFIDENCE)
    return {"before": before, "after": after, "change": float(np.mean(after) - np.mean(before)), "low": float(interval.low), "high": float(interval.high)}


def main():
    volumes = {}
    for r in table("data-scaling-test6.csv"):
        volumes[float(r["records_per_s"])] = (float(r["total_cpu_cores"]), float(r["data_mib_per_s"]), float(r["total_memory_mib"]) / 1024)
    cores, mib, gib = (list(c) for c in zip(*volumes.values()))
    test3 = table("concurrency-test3.csv")
    inf = float("inf")
    json.dump({
        "lines": {
            "records per core": line(cores, list(volumes), 700), "MiB per core": line(cores, mib, 50), "GiB per core": line(cores, gib, 2000),
            "cores for records": line(list(volumes), cores, 300000),
            "CPU per query": line([float(r["simultaneous_queries"]) for r in test3], [float(r["average_cpu_ms_per_minute"]) for r in test3], 150),
        },
        "censored": {
            "Test 7": censored([(78.3, 50, 60), (82.3, 140, 160), (94.3, 500, 550)], 400),
            "one row that never failed": censored([(4, 8, 9), (8, 21, 22), (12, 29, 30), (16, 44, 45), (20, 52, 53), (24, 55, inf)], 40),
            "one row that always failed": censored([(4, -inf, 12), (8, 21, 23), (12, 29, 30), (16, 46, 47), (20, 53, 56), (24, 63, 64)], 50),
            "bounds that bind": censored([(4, 8, 9), (8, 21, 22), (12, 29, 30), (16, 44, 45), (20, 61, inf), (24, 73, inf)], 40),
        },
        "usl": {
            "retrograde": usl([1, 2, 4, 8, 12, 16, 24, 32], [955.2, 1870.7, 3471.6, 5941.4, 7550.0, 8380.2, 9150.9, 8970.3]),
            "rising": usl([1, 2, 3, 5, 7, 10], [171200, 318800, 441000, 660400, 822500, 1010700]),
        },
        "knees": knees(),
        "tails": tails(),
        "correlation": {"x": [90000, 130000, 170000, 230000, 270000], "y": [900, 1500, 2100, 4000, 9000],
                        "r": stats.pearsonr([90000, 130000, 170000, 230000, 270000], [900, 1500, 2100, 4000, 9000]).statistic},
        "welch": [
            welch([90100.0, 91200.0, 89800.0, 90500.0], [64000.0, 70100.0, 61500.0]),
            welch([10.0, 10.1, 9.9, 10.05, 9.95, 10.0], [12.0, 30.0]),
        ],
    }, sys.stdout, indent=1)
    print()


main()
