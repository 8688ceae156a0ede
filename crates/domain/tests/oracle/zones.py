"""Says when triggers fire, by looking at every single minute: the oracle for tests/domain/schedule_zones.rs.

It reads the rules of crates/domain/src/schedule/mod.rs and nothing else of the product: the calendar is Python's
datetime, the zones are Python's zoneinfo, and there is no search, only "does this minute fire?".

In (JSON on standard input):  {"windows": [{"zone", "from", "until"}], "triggers": [{...}]}; instants in UTC seconds.
Out (JSON): for each window, for each trigger, a list of [UTC seconds, kind], where kind is "" or what the clocks did:
"moved", "only-first", "first-of-two", "second-of-two".
"""

import calendar
import json
import sys
from datetime import datetime, timedelta

try:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError
except ImportError:
    sys.exit("zoneinfo is missing: install Python 3.9 or later")

MINUTE = timedelta(minutes=1)
DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


def field(text, low, high, names=()):
    """The numbers that one cron field allows."""
    allowed = set()
    for item in text.lower().split(","):
        span, _, step = item.partition("/")
        for name, number in names:
            span = span.replace(name, str(number))
        if span == "*":
            first, last = low, high
        else:
            first, _, last = span.partition("-")
            first, last = int(first), int(last or first)
        allowed.update(range(first, last + 1, int(step or 1)))
    return allowed


def is_planned(trigger, start):
    """The planned minutes of a day, a predicate over days, and whether the trigger allows every hour."""
    if "cron" in trigger:
        minute, hour, day, month, weekday = trigger["cron"].split()
        minutes, hours = field(minute, 0, 59), field(hour, 0, 23)
        days, months = field(day, 1, 31), field(month, 1, 12, [(name, i + 1) for i, name in enumerate(MONTHS)])
        weekdays = {n % 7 for n in field(weekday, 0, 6, [(name[:3], i) for i, name in enumerate(DAYS)])}
        by_both = len(days) < 31 and len(weekdays) < 7

        def suits(local):
            by_day, by_weekday = local.day in days, local.isoweekday() % 7 in weekdays
            return local.month in months and ((by_day or by_weekday) if by_both else (by_day and by_weekday))

    else:
        minutes, hours, n = set(trigger["minutes"]), set(trigger["hours"]), trigger["interval"]

        def suits(local):
            day, first = local.date(), (start or local).date()
            if trigger["frequency"] == "day":
                return (day - first).days % n == 0
            if trigger["frequency"] == "week":
                monday = lambda date: date - timedelta(days=date.weekday())
                is_week = (monday(day) - monday(first)).days // 7 % n == 0
                return is_week and DAYS[local.isoweekday() % 7] in trigger["weekdays"]
            months = (day.year - first.year) * 12 + day.month - first.month
            is_last = day.day == calendar.monthrange(day.year, day.month)[1]
            chosen = trigger["month_days"]
            return months % n == 0 and (day.day in chosen or (is_last and "last" in chosen))

    known = {}

    def on(day):
        if day not in known:
            known[day] = suits(datetime(day.year, day.month, day.day))
        return known[day]

    return {hour * 60 + minute for hour in hours for minute in minutes}, on, len(hours) == 24


def minutes_of(window):
    """Every minute of the window: UTC seconds, local time, the local times skipped just before it, first or second."""
    zone = ZoneInfo(window["zone"])
    naive = lambda at: datetime.fromtimestamp(at, zone).replace(tzinfo=None, fold=0)
    # Three hours more in front, so that a time shown for the second time is known at the very start.
    first = window["from"] - 3 * 3600
    shown = {}
    rows, before = [], None
    for at in range(first, window["until"], 60):
        local = naive(at)
        skipped = []
        if before is not None and local > before + MINUTE:
            missing = before + MINUTE
            while missing < local:
                skipped.append(missing)
                missing += MINUTE
        shown[local] = shown.get(local, 0) + 1
        rows.append((at, local, skipped, shown[local]))
        before = local
    # The plain numbers are for speed: a week has ten thousand minutes, and there are many triggers.
    return [
        (at, local.date(), local.hour * 60 + local.minute, skipped, nth, shown[local] > 1)
        for at, local, skipped, nth in rows
        if at >= window["from"]
    ]


def firings(trigger, rows, zone):
    start = datetime.fromisoformat(trigger["start"]) if trigger.get("start") else None
    found = []
    if trigger.get("frequency") in ("minute", "hour"):
        # Starts are written where they exist; of two the first.
        anchor = int(start.replace(tzinfo=zone, fold=0).timestamp())
        step = trigger["interval"] * (60 if trigger["frequency"] == "minute" else 3600)
        for at, _, _, _, nth, is_twice in rows:
            if at >= anchor and (at - anchor) % step == 0:
                found.append([at, ["", "first-of-two", "second-of-two"][nth if is_twice else 0]])
        return found
    times, on, is_every_hour = is_planned(trigger, start)
    begins = int(start.replace(tzinfo=zone, fold=0).timestamp()) if start else rows[0][0]
    for at, day, minute, skipped, nth, is_twice in rows:
        if at < begins:
            continue
        # A day or more that was left out does not exist; anything shorter is made up at the switch.
        is_gap = skipped and len(skipped) < 24 * 60 and not is_every_hour
        if is_gap and any(m.hour * 60 + m.minute in times and on(m.date()) for m in skipped):
            found.append([at, "moved"])
        elif minute in times and on(day):
            if is_every_hour:
                found.append([at, ["", "first-of-two", "second-of-two"][nth if is_twice else 0]])
            elif nth == 1:
                found.append([at, "only-first" if is_twice else ""])
    return found


def main():
    question = json.load(sys.stdin)
    answer = []
    for window in question["windows"]:
        try:
            zone = ZoneInfo(window["zone"])
        except ZoneInfoNotFoundError:
            sys.exit(f"no time zone data for {window['zone']}: install the system package tzdata, or: pip install tzdata")
        rows = minutes_of(window)
        answer.append([firings(trigger, rows, zone) for trigger in question["triggers"]])
    # In one piece: json.dump would write every number by itself.
    sys.stdout.write(json.dumps(answer))


main()
