# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI description of the API, from the types that it takes and gives."""

from __future__ import annotations

from importlib import metadata
from typing import Any, get_args

import msgspec

from unsnarl.collect.admission import ANOMALIES, API
from unsnarl.collect.answers import Message
from unsnarl.collect.ranking import LIMIT_MOST, CollectedAnomaly, DayCount, RankedList, Sort
from unsnarl.model.anomaly import AnomalyBatch

TYPES = (AnomalyBatch, RankedList, CollectedAnomaly, DayCount, Message)
REFUSALS = {
    400: "what was sent, or asked for, is not allowed",
    401: "no token, or none that exists",
    403: "a token of the other kind",
    404: "there is no such anomaly",
    408: "the body took too long",
    413: "the batch is too large",
    415: "not JSON, or compressed",
    421: "asked for by a name that is not the server's",
    503: "not stored; send it once more after `Retry-After` seconds",
}
TEXT = {"type": "string"}
PARAMETERS = {
    "search": ("words that must all be in its code points, its program's name or its id", TEXT),
    "program": ("of this program", TEXT),
    "version": ("seen in this version", TEXT),
    "sort": ("what comes first", {"enum": list(get_args(Sort)), "default": "score"}),
    "limit": (
        "how many",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MOST, "default": 50},
    ),
    "offset": ("after how many", {"type": "integer", "minimum": 0, "default": 0}),
}
ID = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "the anomaly's id",
    "schema": TEXT,
}


def description() -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    _, schemas = msgspec.json.schema_components(TYPES, ref_template="#/components/schemas/{name}")
    bearer = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "unsnarl collect",
            "version": metadata.version("unsnarl"),
            "description": "Anomalies of watched programs: sent by them, ranked for you.",
        },
        "paths": _paths(),
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "send": bearer | {"description": "a token to send"},
                "read": bearer | {"description": "a token to read"},
            },
        },
    }


def _paths() -> dict[str, Any]:
    days = {"type": "array", "items": _of(DayCount)}
    acknowledged = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}
    asked = [
        {"name": name, "in": "query", "description": text, "schema": schema}
        for name, (text, schema) in PARAMETERS.items()
    ]
    one = f"{ANOMALIES}/{{id}}"
    ranked = _get("The ranked list.", "a part of it", _of(RankedList), (400,), asked)
    taken = _answers("it is stored, or was before", acknowledged, (400, 408, 413, 415), 202)
    sent = {
        "summary": "Send a batch.",
        "security": [{"send": []}],
        "requestBody": {"required": True, "content": _content(_of(AnomalyBatch))},
        "responses": taken,
    }
    whole = _get("One anomaly, over all instances.", "it", _of(CollectedAnomaly), (404,), [ID])
    trend = _get("How often it was seen, by day and version.", "days", days, (404,), [ID])
    about = _get("This description.", "it", {"type": "object"}, (), [])
    return {
        ANOMALIES: {"get": ranked, "post": sent},
        one: {"get": whole},
        f"{one}/trend": {"get": trend},
        f"{API}openapi.json": {"get": about},
    }


def _get(
    summary: str, answer: str, schema: object, refusals: tuple[int, ...], parameters: list[Any]
) -> dict[str, Any]:
    return {
        "summary": summary,
        "security": [{"read": []}],
        "parameters": parameters,
        "responses": _answers(answer, schema, refusals),
    }


def _answers(
    text: str, schema: object, refusals: tuple[int, ...], status: int = 200
) -> dict[str, Any]:
    numbers = sorted((*refusals, 401, 403, 421, 503))
    refused = {
        str(number): {"description": REFUSALS[number], "content": _content(_of(Message))}
        for number in numbers
    }
    refused["421"].pop("content")  # plain text: who asks there is not ours
    return {str(status): {"description": text, "content": _content(schema)}, **refused}


def _content(schema: object) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _of(value: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{value.__name__}"}
