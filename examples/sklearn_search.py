"""A pipeline tuned by cross-validation: the search stops when no further candidate is worth its price."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from autobct import Float
from autobct.integrations.sklearn import AutoBCTSearchCV

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

search = AutoBCTSearchCV(
    make_pipeline(StandardScaler(), SVC()),
    {"svc__C": Float(0.01, 100, log=True), "svc__gamma": Float(1e-4, 1, log=True)},
    price="0.01 per 5s",  # a hundredth of accuracy is worth five seconds of computing
    score_range=(0.9, 1.0),
)
search.fit(X_train, y_train)

print(search.why_)
print(f"best: {search.best_params_}, accuracy {search.best_score_:.3f} in cross-validation")
print(f"on the test set: {search.score(X_test, y_test):.3f}")
