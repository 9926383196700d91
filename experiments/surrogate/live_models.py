"""Small models of scikit-learn and the widest intervals of their parameters: what `live.py` draws tasks from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autobct import Float, Int

Log = True
BROAD: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "tree": {"max_depth": (Int, 1, 25), "min_samples_leaf": (Int, 1, 80, Log), "ccp_alpha": (Float, 1e-6, 0.3, Log),
             "max_features": (Float, 0.05, 1.0), "splitter": (["best", "random"],)},
    "extra": {"n_estimators": (Int, 2, 60, Log), "max_depth": (Int, 1, 20), "max_features": (Float, 0.05, 1.0),
              "min_samples_leaf": (Int, 1, 40, Log), "bootstrap": ([True, False],)},
    "adaboost": {"n_estimators": (Int, 2, 60, Log), "learning_rate": (Float, 1e-3, 5.0, Log), "depth": (Int, 1, 6)},
    "gradient": {"n_estimators": (Int, 2, 80, Log), "learning_rate": (Float, 1e-3, 2.0, Log), "max_depth": (Int, 1, 6),
                 "subsample": (Float, 0.1, 1.0), "min_samples_leaf": (Int, 1, 60, Log)},
    "bagging": {"n_estimators": (Int, 2, 40, Log), "max_samples": (Float, 0.02, 1.0), "max_features": (Float, 0.1, 1.0),
                "depth": (Int, 1, 15)},
    "kernel_ridge": {"alpha": (Float, 1e-6, 1e3, Log), "gamma": (Float, 1e-5, 1e2, Log), "coef0": (Float, 0.0, 2.0),
                     "kernel": (["rbf", "laplacian", "polynomial", "sigmoid"],)},
    "polynomial": {"degree": (Int, 1, 3), "components": (Int, 1, 10), "alpha": (Float, 1e-8, 1e6, Log)},
    "nystroem": {"n_components": (Int, 2, 150, Log), "gamma": (Float, 1e-5, 10.0, Log), "C": (Float, 1e-5, 1e5, Log),
                 "max_iter": (Int, 2, 100, Log)},
    "logistic": {"C": (Float, 1e-6, 1e5, Log), "l1_ratio": (Float, 0.0, 1.0), "max_iter": (Int, 1, 120, Log),
                 "components": (Int, 1, 12)},
    "hyperplane": {"C": (Float, 1e-6, 1e4, Log), "loss": (["hinge", "squared_hinge"],), "max_iter": (Int, 1, 200, Log),
                   "intercept_scaling": (Float, 1e-2, 1e2, Log)},
    "process": {"length": (Float, 1e-2, 1e3, Log), "alpha": (Float, 1e-8, 10.0, Log), "nu": ([0.5, 1.5, 2.5, 9.5],),
                "height": (Float, 1e-2, 1e2, Log)},
    "discriminant": {"shrinkage": (Float, 0.0, 1.0), "components": (Int, 1, 12), "degree": (Int, 1, 2)},
    "clusters": {"n_clusters": (Int, 2, 60, Log), "C": (Float, 1e-5, 1e4, Log), "n_init": (Int, 1, 4),
                 "max_iter": (Int, 1, 60, Log)},
    "descent": {"rate": (Float, 1e-4, 30.0, Log), "momentum": (Float, 0.0, 0.99), "width": (Int, 1, 128, Log),
                "steps": (Int, 3, 300, Log), "batch": (Int, 4, 128, Log), "decay": (Float, 1e-7, 1.0, Log),
                "start": (Float, 1e-3, 10.0, Log), "activation": (["relu", "tanh", "sigmoid"],)},
    "descent2": {"rate": (Float, 1e-4, 30.0, Log), "width": (Int, 1, 128, Log), "epochs": (Int, 1, 12),
                 "dropout": (Float, 0.0, 0.9), "batch": (Int, 4, 128, Log), "decay": (Float, 1e-7, 1.0, Log)},
    "svc": {"C": (Float, 1e-3, 1e4, Log), "gamma": (Float, 1e-6, 1e2, Log), "coef0": (Float, 0.0, 2.0),
            "kernel": (["rbf", "poly", "sigmoid"],)},
    "knn": {"components": (Int, 1, 20), "n_neighbors": (Int, 1, 100, Log), "p": (Float, 1.0, 4.0),
            "weights": (["uniform", "distance"],), "leaf_size": (Int, 2, 200, Log)},
    "sgd": {"alpha": (Float, 1e-8, 10.0, Log), "l1_ratio": (Float, 0.0, 1.0), "eta0": (Float, 1e-5, 10.0, Log),
            "power_t": (Float, 0.0, 1.0), "max_iter": (Int, 1, 60, Log),
            "loss": (["hinge", "log_loss", "modified_huber"],)},
    "forest": {"n_estimators": (Int, 2, 60, Log), "max_depth": (Int, 1, 25), "max_features": (Float, 0.03, 1.0),
               "min_samples_leaf": (Int, 1, 60, Log), "max_samples": (Float, 0.05, 1.0)},
    "hist": {"max_iter": (Int, 2, 60, Log), "learning_rate": (Float, 1e-3, 1.0, Log),
             "max_leaf_nodes": (Int, 2, 64, Log), "min_samples_leaf": (Int, 1, 100, Log),
             "l2_regularization": (Float, 1e-8, 1e2, Log), "max_features": (Float, 0.1, 1.0)},
    "mlp": {"layers": (Int, 1, 3), "units": (Int, 2, 128, Log), "learning_rate_init": (Float, 1e-5, 0.3, Log),
            "alpha": (Float, 1e-7, 10.0, Log), "batch_size": (Int, 8, 256, Log), "max_iter": (Int, 2, 30, Log),
            "activation": (["relu", "tanh", "logistic"],), "solver": (["adam", "sgd"],)},
    "elastic": {"alpha": (Float, 1e-6, 1e2, Log), "l1_ratio": (Float, 0.01, 1.0), "degree": (Int, 1, 3),
                "components": (Int, 1, 8), "max_iter": (Int, 5, 500, Log)},
    "splines": {"n_knots": (Int, 2, 40, Log), "degree": (Int, 1, 4), "alpha": (Float, 1e-8, 1e5, Log),
                "components": (Int, 1, 12)},
    "svr": {"C": (Float, 1e-3, 1e4, Log), "gamma": (Float, 1e-5, 1e2, Log), "epsilon": (Float, 1e-3, 3.0, Log)},
    "labels": {"gamma": (Float, 1e-3, 1e3, Log), "alpha": (Float, 0.01, 0.99), "n_neighbors": (Int, 1, 60, Log),
               "kernel": (["rbf", "knn"],), "max_iter": (Int, 1, 40, Log)},
    "robust": {"n_estimators": (Int, 2, 80, Log), "learning_rate": (Float, 1e-3, 2.0, Log), "max_depth": (Int, 1, 6),
               "subsample": (Float, 0.1, 1.0), "alpha": (Float, 0.3, 0.99), "max_features": (Float, 0.1, 1.0)},
    "features": {"n_components": (Int, 2, 300, Log), "gamma": (Float, 1e-5, 10.0, Log),
                 "alpha": (Float, 1e-6, 1e4, Log), "degree": (Int, 1, 2)},
    "huber": {"epsilon": (Float, 1.0, 6.0), "alpha": (Float, 1e-6, 1e3, Log), "max_iter": (Int, 1, 150, Log),
              "degree": (Int, 1, 2), "components": (Int, 1, 10)},
    "linear_svr": {"C": (Float, 1e-4, 1e3, Log), "epsilon": (Float, 1e-3, 3.0, Log), "max_iter": (Int, 2, 400, Log),
                   "degree": (Int, 1, 2), "loss": (["epsilon_insensitive", "squared_epsilon_insensitive"],)},
    "selected": {"percentile": (Int, 2, 100), "n_neighbors": (Int, 1, 80, Log), "p": (Float, 1.0, 4.0),
                 "weights": (["uniform", "distance"],)},
    "quadratic": {"reg_param": (Float, 0.0, 1.0), "components": (Int, 1, 20), "tol": (Float, 1e-6, 1e-1, Log)},
    "kernel_pca": {"n_components": (Int, 1, 60, Log), "gamma": (Float, 1e-5, 10.0, Log), "C": (Float, 1e-5, 1e5, Log),
                   "kernel": (["rbf", "sigmoid", "cosine", "poly"],)},
    "bins": {"n_bins": (Int, 2, 40, Log), "alpha": (Float, 1e-4, 1e3, Log), "strategy": (["uniform", "quantile"],),
             "percentile": (Int, 5, 100)},
    "extra_trees": {"n_estimators": (Int, 2, 60, Log), "max_depth": (Int, 1, 25), "max_features": (Float, 0.05, 1.0),
                    "min_samples_split": (Int, 2, 120, Log), "ccp_alpha": (Float, 1e-6, 1.0, Log)},
    "histogram": {"max_iter": (Int, 2, 80, Log), "learning_rate": (Float, 1e-3, 1.5, Log), "max_depth": (Int, 1, 12),
                  "min_samples_leaf": (Int, 1, 100, Log), "l2_regularization": (Float, 1e-6, 1e3, Log),
                  "max_bins": (Int, 2, 255, Log)},
    "perceptrons": {"units": (Int, 2, 128, Log), "layers": (Int, 1, 3), "learning_rate_init": (Float, 1e-5, 1.0, Log),
                    "momentum": (Float, 0.0, 0.99), "batch_size": (Int, 8, 128, Log), "max_iter": (Int, 2, 40, Log),
                    "alpha": (Float, 1e-7, 10.0, Log)},
    "aggressive": {"C": (Float, 1e-6, 1e2, Log), "max_iter": (Int, 1, 60, Log), "components": (Int, 1, 20),
                   "average": ([True, False],)},
    "embedded": {"n_estimators": (Int, 2, 80, Log), "max_depth": (Int, 1, 8), "min_samples_leaf": (Int, 1, 60, Log),
                 "C": (Float, 1e-4, 1e4, Log)},
    "bagged": {"n_estimators": (Int, 2, 30, Log), "max_samples": (Float, 0.02, 1.0), "C": (Float, 1e-6, 1e3, Log),
               "max_features": (Float, 0.1, 1.0)},
    "descent_line": {"alpha": (Float, 1e-8, 10.0, Log), "eta0": (Float, 1e-5, 3.0, Log), "power_t": (Float, 0.0, 1.0),
                     "max_iter": (Int, 1, 80, Log), "l1_ratio": (Float, 0.0, 1.0), "epsilon": (Float, 1e-3, 3.0, Log),
                     "loss": (["squared_error", "huber", "epsilon_insensitive"],)},
}  # fmt: skip
"""Widest interval of every parameter.  New ones come last: files say a kind by its number."""
TWINS = {
    "svc": ("svm", "svc", "rbf"), "knn": ("neighbours",), "selected": ("neighbours",), "sgd": ("linear", "sgd"),
    "forest": ("forest", "rf", "ranger"), "hist": ("boosting", "lightgbm"), "gradient": ("xgboost",),
    "mlp": ("network", "fcnet"), "descent": ("sgdnet",), "descent2": ("sgdnet",), "logistic": ("logreg",),
    "tree": ("rpart",), "kernel_ridge": ("kernel_ridge",),
}  # fmt: skip
"""Kinds that a family of the benchmark has, too: they are left out with it."""
REGRESSION = ("kernel_ridge", "polynomial", "process", "elastic", "splines", "svr", "robust", "huber", "linear_svr",
              "extra_trees", "histogram", "perceptrons", "descent_line")  # fmt: skip


def model_of(algorithm: str, p: dict[str, Any], columns: int) -> Any:
    """The estimator of a configuration."""
    from sklearn import (
        cluster,
        decomposition,
        discriminant_analysis,
        ensemble,
        feature_selection,
        gaussian_process,
        kernel_approximation,
        kernel_ridge,
        linear_model,
        naive_bayes,
        neighbors,
        neural_network,
        pipeline,
        preprocessing,
        semi_supervised,
        svm,
        tree,
    )

    def reduced() -> Any:
        return decomposition.PCA(min(p.pop("components"), columns), random_state=0)

    def cart() -> Any:
        return tree.DecisionTreeClassifier(max_depth=p.pop("depth"), random_state=0)

    def grown(**how: Any) -> Any:
        return preprocessing.PolynomialFeatures(p.pop("degree"), **how)

    def process() -> Any:
        kernels = gaussian_process.kernels
        kernel = kernels.ConstantKernel(p["height"]) * kernels.Matern(p["length"], nu=p["nu"])
        return gaussian_process.GaussianProcessRegressor(kernel, alpha=p["alpha"], optimizer=None)

    def nystroem() -> Any:
        how = {"gamma": p.pop("gamma"), "n_components": p.pop("n_components")}
        return pipe(kernel_approximation.Nystroem(random_state=0, **how), linear_model.LogisticRegression(**p))

    def clusters() -> Any:
        found = cluster.KMeans(p["n_clusters"], n_init=p["n_init"], max_iter=p["max_iter"], random_state=0)
        return pipe(found, preprocessing.StandardScaler(), linear_model.LogisticRegression(C=p["C"]))

    def splines() -> Any:
        how = {"n_knots": p.pop("n_knots"), "degree": p.pop("degree")}
        return pipe(reduced(), preprocessing.SplineTransformer(**how), linear_model.Ridge(**p))

    def mlp() -> Any:
        p["hidden_layer_sizes"] = (p.pop("units"),) * p.pop("layers")
        return neural_network.MLPClassifier(tol=0.0, n_iter_no_change=10_000, random_state=0, **p)

    def perceptrons() -> Any:
        p["hidden_layer_sizes"] = (p.pop("units"),) * p.pop("layers")
        return neural_network.MLPRegressor(solver="sgd", tol=0.0, n_iter_no_change=10_000, random_state=0, **p)

    def random_features() -> Any:
        how = {"gamma": p.pop("gamma"), "n_components": p.pop("n_components")}
        sampler = kernel_approximation.RBFSampler(random_state=0, **how)
        return pipe(grown(include_bias=False), sampler, linear_model.RidgeClassifier(**p))

    def selected() -> Any:
        return feature_selection.SelectPercentile(percentile=p.pop("percentile"))

    def kernel_pca() -> Any:
        how = {name: p.pop(name) for name in ("n_components", "gamma", "kernel")}
        return pipe(decomposition.KernelPCA(random_state=0, **how), linear_model.LogisticRegression(**p))

    def bins() -> Any:
        how = {name: p.pop(name) for name in ("n_bins", "strategy")}
        sorter = preprocessing.KBinsDiscretizer(encode="onehot-dense", quantile_method="averaged_inverted_cdf", **how)
        return pipe(selected(), sorter, naive_bayes.BernoulliNB(**p))

    def embedded() -> Any:
        how = {name: p.pop(name) for name in ("n_estimators", "max_depth", "min_samples_leaf")}
        return pipe(ensemble.RandomTreesEmbedding(random_state=0, **how), linear_model.LogisticRegression(**p))

    pipe = pipeline.make_pipeline
    makers: dict[str, Callable[[], Any]] = {
        "tree": lambda: tree.DecisionTreeClassifier(random_state=0, **p),
        "extra": lambda: ensemble.ExtraTreesClassifier(random_state=0, **p),
        "adaboost": lambda: ensemble.AdaBoostClassifier(cart(), random_state=0, **p),
        "gradient": lambda: ensemble.GradientBoostingClassifier(random_state=0, **p),
        "bagging": lambda: ensemble.BaggingClassifier(cart(), random_state=0, **p),
        "kernel_ridge": lambda: kernel_ridge.KernelRidge(**p),
        "polynomial": lambda: pipe(reduced(), grown(), linear_model.Ridge(**p)),
        "nystroem": nystroem,
        "logistic": lambda: pipe(reduced(), linear_model.LogisticRegression(solver="saga", random_state=0, **p)),
        "hyperplane": lambda: svm.LinearSVC(random_state=0, **p),
        "process": process,
        "discriminant": lambda: pipe(
            reduced(),
            grown(include_bias=False),
            discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr", **p),
        ),
        "clusters": clusters,
        "descent": lambda: Descent(**p),
        "descent2": lambda: Descent(**p),
        "svc": lambda: svm.SVC(max_iter=5_000, **p),
        "knn": lambda: pipe(reduced(), neighbors.KNeighborsClassifier(algorithm="ball_tree", **p)),
        "sgd": lambda: linear_model.SGDClassifier(
            penalty="elasticnet", learning_rate="invscaling", tol=None, random_state=0, **p
        ),
        "forest": lambda: ensemble.RandomForestClassifier(random_state=0, **p),
        "hist": lambda: ensemble.HistGradientBoostingClassifier(early_stopping=False, random_state=0, **p),
        "mlp": mlp,
        "elastic": lambda: pipe(
            reduced(), grown(include_bias=False), linear_model.ElasticNet(selection="random", random_state=0, **p)
        ),
        "splines": splines,
        "svr": lambda: svm.SVR(max_iter=5_000, **p),
        "labels": lambda: semi_supervised.LabelSpreading(**p),
        "robust": lambda: ensemble.GradientBoostingRegressor(loss="huber", random_state=0, **p),
        "features": random_features,
        "huber": lambda: pipe(reduced(), grown(include_bias=False), linear_model.HuberRegressor(**p)),
        "linear_svr": lambda: pipe(grown(include_bias=False), svm.LinearSVR(random_state=0, **p)),
        "selected": lambda: pipe(selected(), neighbors.KNeighborsClassifier(**p)),
        "quadratic": lambda: pipe(
            reduced(),
            discriminant_analysis.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=p.pop("reg_param"), **p),
        ),
        "kernel_pca": kernel_pca,
        "bins": bins,
        "extra_trees": lambda: ensemble.ExtraTreesRegressor(random_state=0, **p),
        "histogram": lambda: ensemble.HistGradientBoostingRegressor(early_stopping=False, random_state=0, **p),
        "perceptrons": perceptrons,
        "aggressive": lambda: pipe(
            reduced(),
            linear_model.SGDClassifier(
                loss="hinge", penalty=None, learning_rate="pa1", eta0=p.pop("C"), tol=None, random_state=0, **p
            ),
        ),
        "embedded": embedded,
        "bagged": lambda: ensemble.BaggingClassifier(svm.LinearSVC(C=p.pop("C")), random_state=0, **p),
        "descent_line": lambda: linear_model.SGDRegressor(
            penalty="elasticnet", learning_rate="invscaling", tol=None, random_state=0, **p
        ),
    }
    return makers[algorithm]()


class Descent:
    """A network of one hidden layer by stochastic gradient descent with momentum: diverges where the rate is high."""

    def __init__(self, *, rate: float = 0.1, momentum: float = 0.5, width: int = 16, steps: int = 0, batch: int = 32,
                 decay: float = 1e-6, start: float = 1.0, activation: str = "relu", epochs: int = 0,
                 dropout: float = 0.0) -> None:  # fmt: skip
        self.rate, self.momentum, self.width, self.steps, self.batch = rate, momentum, width, steps, batch
        self.decay, self.start, self.activation, self.epochs, self.dropout = decay, start, activation, epochs, dropout

    def fit(self, x: np.ndarray, y: np.ndarray) -> Descent:
        rng = np.random.default_rng(0)
        self.classes = np.unique(y)
        target = (y[:, None] == self.classes).astype(float)
        sizes = [(x.shape[1], self.width), (self.width, len(self.classes))]
        self.weights = [self.start * rng.standard_normal(s) / np.sqrt(s[0]) for s in sizes]
        moves = [np.zeros_like(w) for w in self.weights]
        steps = self.steps or self.epochs * max(1, len(x) // self.batch)
        for _ in range(min(steps, 400)):
            at = rng.integers(len(x), size=self.batch)
            hidden, slope = self._hidden(x[at] @ self.weights[0])
            mask = (rng.random(hidden.shape) >= self.dropout) / (1.0 - self.dropout)
            error = (_softmax(hidden * mask @ self.weights[1]) - target[at]) / self.batch
            grads = [x[at].T @ (error @ self.weights[1].T * slope * mask), (hidden * mask).T @ error]
            for k in range(2):
                moves[k] = self.momentum * moves[k] - self.rate * (grads[k] + self.decay * self.weights[k])
                self.weights[k] = np.clip(self.weights[k] + moves[k], -1e3, 1e3)
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return _softmax(self._hidden(x @ self.weights[0])[0] @ self.weights[1])

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes[self.predict_proba(x).argmax(axis=1)])

    def _hidden(self, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.activation == "relu":
            return np.maximum(inner, 0.0), (inner > 0).astype(float)
        if self.activation == "tanh":
            hidden = np.tanh(inner)
            return hidden, 1.0 - hidden**2
        hidden = 1.0 / (1.0 + np.exp(-np.clip(inner, -50, 50)))
        return hidden, hidden * (1.0 - hidden)


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(np.clip(x - x.max(axis=1, keepdims=True), -60, 0))
    return np.asarray(e / e.sum(axis=1, keepdims=True))
