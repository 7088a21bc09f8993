"""pandas: groupby, merge, pivot, to_csv, read_csv, rolling, dates, categories, strings."""
import io
import numpy as np
import pandas as pd

rng = np.random.default_rng(4)
n = 800
frame = pd.DataFrame({
    "city": rng.choice(["Rome", "Oslo", "Lima"], n),
    "day": pd.date_range("2024-01-01", periods=n, freq="h"),
    "sales": rng.normal(100, 20, n).round(3),
    "count": rng.integers(0, 9, n),
})
print(frame.groupby("city").agg({"sales": ["mean", "std", "max"], "count": "sum"}))
print(frame.groupby([frame.day.dt.month, "city"])["sales"].median())
other = pd.DataFrame({"city": ["Rome", "Oslo", "Cairo"], "code": [39, 47, 20]})
print(frame.merge(other, on="city", how="outer", indicator=True)["_merge"].value_counts())
print(frame.pivot_table(index="count", columns="city", values="sales", aggfunc="mean"))
text = frame.head(20).to_csv(index=False)
print(text, pd.read_csv(io.StringIO(text), parse_dates=["day"]).equals(frame.head(20)))
print(frame.set_index("day")["sales"].resample("W").sum(), frame.sales.rolling(7).mean().tail(3).tolist())
print(frame.sort_values(["city", "sales"], ascending=[True, False]).head(4), frame.describe())
print(frame.city.str.upper().str.slice(0, 2).astype("category").cat.codes.sum(), pd.cut(frame.sales, 4).value_counts())
print(frame.melt(id_vars=["city"], value_vars=["sales", "count"]).tail(2), pd.crosstab(frame.city, frame["count"] > 4))
print(frame.duplicated(["city", "count"]).sum(), frame.isna().sum().sum(), frame.sales.rank().sum(), frame.to_json()[:80])
