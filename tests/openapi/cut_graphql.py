"""Cut GitHub's GraphQL schema to what the bot's documents name.

    python -m tests.openapi.cut_graphql SCHEMA.graphql > tests/openapi/github.graphql

SCHEMA.graphql is the whole one, from the npm package @octokit/graphql-schema.
"""

from __future__ import annotations

import sys
from pathlib import Path

from graphql import (
    FieldNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    build_schema,
    get_named_type,
    parse,
    print_type,
    visit,
)

from bot import github_documents


class Used(Visitor):
    """Which fields of which types the documents name."""

    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self._info = info
        self.fields: dict[str, set[str]] = {}
        self.types: set[str] = set()

    def enter_field(self, node: FieldNode, *_: object) -> None:
        parent, definition = self._info.get_parent_type(), self._info.get_field_def()
        if parent is None or definition is None:
            return
        self.fields.setdefault(parent.name, set()).add(node.name.value)
        self.types |= {parent.name, get_named_type(definition.type).name}
        self.types |= {get_named_type(argument.type).name for argument in definition.args.values()}


def cut(schema: GraphQLSchema) -> str:
    used_fields: dict[str, set[str]] = {}
    names: set[str] = set()
    for document in github_documents.ALL:
        info = TypeInfo(schema)
        used = Used(info)
        visit(parse(document), TypeInfoVisitor(info, used))
        for name, fields in used.fields.items():
            used_fields.setdefault(name, set()).update(fields)
        names |= used.types
    _with_parts(schema, names, used_fields)
    printed = [_printed(schema, schema.type_map[name], names, used_fields) for name in sorted(names)]
    return "\n\n".join(text for text in printed if text) + "\n"


def _with_parts(schema: GraphQLSchema, names: set[str], fields: dict[str, set[str]]) -> None:
    """Input objects whole; an interface with one of the types that implement it, so that a fragment can be of it."""
    for name in list(names):
        kind = schema.type_map[name]
        if isinstance(kind, GraphQLInputObjectType):
            names |= {get_named_type(field.type).name for field in kind.fields.values()}
        if isinstance(kind, GraphQLInterfaceType):
            names |= {"IssueComment"}
            fields.setdefault("IssueComment", set()).update(fields.get(name, set()))


def _printed(schema: GraphQLSchema, kind: GraphQLNamedType, names: set[str], fields: dict[str, set[str]]) -> str:
    if isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
        interfaces = [one for one in kind.interfaces if one.name in names]
        wanted = set(fields.get(kind.name, set())).union(*(fields.get(one.name, set()) for one in interfaces))
        kept = {name: field for name, field in kind.fields.items() if name in wanted}
        for field in kept.values():
            field.args = {name: one for name, one in field.args.items() if get_named_type(one.type).name in names}
        made = type(kind)(kind.name, kept, interfaces=interfaces)
        return print_type(made)
    if isinstance(kind, GraphQLEnumType | GraphQLInputObjectType | GraphQLUnionType):
        return print_type(kind)
    return "" if kind.name in {"String", "Int", "ID", "Boolean", "Float"} else print_type(kind)


if __name__ == "__main__":
    print(cut(build_schema(Path(sys.argv[1]).read_text(), assume_valid=True)), end="")
