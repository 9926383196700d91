"""A Ray Tune experiment that ends by itself: python examples/ray_tune.py  (needs autobct[ray,sklearn])."""

from pathlib import Path

from ray import tune
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from autobct.integrations.ray import AutoBCTSearch


def train(config: dict) -> None:
    """Accuracy of a support vector machine; the seconds of the trial are its cost."""
    X, y = load_digits(return_X_y=True)
    model = SVC(C=config["C"], gamma=config["gamma"])
    tune.report({"accuracy": cross_val_score(model, X[:900], y[:900], cv=3).mean()})


if __name__ == "__main__":
    search = AutoBCTSearch(price="0.01 per 2s")
    grid = tune.Tuner(
        train,
        param_space={"C": tune.loguniform(0.01, 100), "gamma": tune.loguniform(1e-4, 0.1)},
        tune_config=tune.TuneConfig(
            metric="accuracy",
            mode="max",
            search_alg=search,
            num_samples=-1,  # as many as are worth it
            max_concurrent_trials=2,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(storage_path=str(Path("ray_results").resolve()), verbose=0),
    ).fit()
    print(grid.get_best_result().config, search.result().score)
    print(search.result().why)
