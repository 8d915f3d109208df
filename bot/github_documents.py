"""What is asked of GitHub in GraphQL, because REST does not have it: documents, held against its schema by a test.

Which review threads are resolved, when a text was last edited, hiding a comment, and whether a branch may be pushed to.
"""

from __future__ import annotations

from typing import Final

REVIEW_THREADS: Final = """
query ReviewThreads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 50, after: $after) {
        nodes { id isResolved isOutdated comments(first: 1) { nodes { fullDatabaseId } } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}
"""

EDITS: Final = """
query Edits($ids: [ID!]!) {
  nodes(ids: $ids) {
    id
    ... on Comment { lastEditedAt }
    ... on Minimizable { isMinimized }
  }
}
"""
MAX_IDS: Final = 100
"""Of nodes in one question, by GitHub's own rule."""

MINIMISE: Final = """
mutation Minimise($id: ID!, $reason: ReportedContentClassifiers!) {
  minimizeComment(input: {subjectId: $id, classifier: $reason}) {
    minimizedComment { isMinimized }
  }
}
"""
OUTDATED: Final = "OUTDATED"

BRANCH_RULE: Final = """
query BranchRule($owner: String!, $name: String!, $ref: String!) {
  repository(owner: $owner, name: $name) {
    ref(qualifiedName: $ref) { refUpdateRule { viewerCanPush } }
  }
}
"""

ALL: Final = (REVIEW_THREADS, EDITS, MINIMISE, BRANCH_RULE)
