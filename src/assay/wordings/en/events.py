"""Texts in English: what was found in event logs. A number of rows precedes each of them."""

from __future__ import annotations

TEXTS = {
    "events.counted": "{n:,} {message}",
    # Lines that could not be read
    "events.no_json": "{n:line is|lines are} not JSON: set aside",
    "events.truncated": "last line is cut off: set aside",
    "events.schema": "{n:line does|lines do} not fit the schema of UBI: set aside",
    "events.no_document": "{n:line is|lines are} neither a query nor an event: set aside",
    # Rows that are set aside or merged
    "events.no_action": "{n:row has|rows have} no action: set aside",
    "events.bad_time": "{n:row has a time|rows have times} that cannot be read: set aside",
    "events.clock": "{n:row is|rows are} from before the year 2000 or from the future: set aside",
    "events.duplicate": "{n:event repeats|events repeat} another (same query, user, time, action, document and position): counted once",
    "events.repeated_request": "further {n:request|requests} of the same query (facets, pages, or sent twice): merged into the one that returned most",
    "events.shared_query": "{n:request has|requests have} the query id of another user's request: set aside, as ids of queries must be unique",
    "events.long_before": "{n:event is|events are} more than a minute earlier than the query: set aside",
    # Rows that are kept
    "events.skew": "{n:event is|events are} up to a minute earlier than the query: kept, the clocks differ",
    "events.unknown_query": "{n:event belongs|events belong} to queries that are not in the log: kept, and counted only where no request is needed",
    "events.bare": "{n:event has|events have} no attributes (null): kept, without document and position",
    "events.no_zone": "{n:time has|times have} no time zone: taken as UTC",
    "events.bad_number": "{n:row has a number that cannot be read or a position|rows have numbers that cannot be read or positions} below 0: left out, the {n:row is|rows are} kept",
    "events.positions_from_zero": "{n:row counts|rows count} positions from 0 (all {zeros:,} {zeros:query|queries}): 1 is added",
    "events.mixed_positions": "{n:row counts|rows count} positions from 0, others from 1 ({zeros:,} {zeros:query|queries} from 0, {ones:,} from 1): 1 is added to those from 0",
    "events.unknown_positions": "{n:row has a position|rows have positions} that may begin at 0 or at 1 ({queries:,} {queries:query|queries}): left out, the {n:row is|rows are} kept",
    "events.inherited": "events without {names} have {names} of their request",
    "events.bots": "{n:row is|rows are} of {users:,} {users:user who looks|users who look} like a program (by name, or more than 30 requests in a minute or 1,000 on a day): kept",
    "events.bots_dropped": "{n:row is|rows are} of {users:,} {users:user who looks|users who look} like a program (by name, or more than 30 requests in a minute or 1,000 on a day): set aside, as asked",
    "events.spellings": "{n:spelling|spellings} of variants {n:differs|differ} from others only by case, blanks or width: {n:it counts as a variant|they count as variants} of {n:its|their} own",
    "events.folded_variants": "{n:spelling|spellings} of variants {n:differs|differ} from others only by case, blanks or width: folded, as asked",
    "events.two_variants": "{n:user is|users are} in more than one variant of an experiment: kept",
    "events.no_impressions": "{n:query has|queries have} clicks but neither impressions nor results: rates of clicks leave {n:it|them} out",
}
