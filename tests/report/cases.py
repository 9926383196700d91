"""Tunings to report on: small, quick, and of every kind of space."""

import math
from html.parser import HTMLParser

import autobct

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"quoted\" 'single' &amp; {{ 7 * 7 }}"


def hill(params):
    """A score and a cost of any numbers: best at a third of each range."""
    numbers = [value for value in params.values() if isinstance(value, float)]
    return 0.9 - sum((value - 0.3) ** 2 for value in numbers), 1.0 + sum(numbers)


def tuned(space, train=hill, **options):
    options = {"price": 0.003, "score_range": (0, 1), "cost_range": (0.5, 5), "max_runs": 4, **options}
    return autobct.tune(train, space, **options)


def one(**options):
    return tuned({"x": autobct.Float(0, 1)}, **options)


def two(**options):
    return tuned({"x": autobct.Float(0, 1), "y": autobct.Float(0, 1)}, **options)


def many(**options):
    space = {
        "rate": autobct.Float(1e-4, 1, log=True),
        "depth": autobct.Int(2, 9),
        "drop": autobct.Float(0, 0.5),
        "act": autobct.Categorical(["relu", "tanh", HOSTILE]),
    }
    return tuned(space, **options)


def half_failing(params):
    """Fails on the right, with an error that would like to be markup."""
    if params["x"] > 0.5:
        raise RuntimeError(f"{HOSTILE}\n\x1b[31mred\x1b[0m")
    return hill(params)


def told(tuner, runs, seed=0.7):
    """A tuner that has been told so many runs, whatever it wants, and the decisions it made."""
    decisions = []
    for number in range(runs):
        decision = tuner.ask()
        if not isinstance(decision, autobct.Train):
            break
        decisions.append(decision)
        tuner.tell(decision, score=seed + 0.2 * math.sin(number), cost=1.0 + number % 5)
    return tuner, decisions


class Document(HTMLParser):
    """What a parser makes of a page: its elements with their attributes, and the text outside style and script."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._inside: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"style", "script"} & set(self._inside):
            self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]
