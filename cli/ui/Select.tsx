import { Box, Text, useInput, useStdout } from "ink";
import { useEffect, useRef, useState } from "react";
import { arrangeDetail, type Choice, type Outcome, choiceRows as rows } from "./questions.ts";
import { inkColors } from "./theme.ts";
import { applyInput, beginTyping } from "./typing.ts";

type Props = { title: string; choices: Choice[]; done(outcome: Outcome<string>): void };

/** A list to pick one from, by arrows or by typing a part of it. */
export function Select({ title, choices, done }: Props) {
  const [shown, setShown] = useState({ typed: "", position: 0 });
  // Keys may come faster than frames: the state is kept where the next key finds it at once.
  const state = useRef(shown);
  const put = (next: typeof shown): void => {
    state.current = next;
    setShown(next);
  };
  const filterMatching = (typed: string): Choice[] =>
    choices.filter(({ label, value }) => `${label} ${value}`.toLowerCase().includes(typed.toLowerCase()));
  const acceptChoice = (): void => {
    const chosen = filterMatching(state.current.typed)[state.current.position];
    if (chosen) done({ value: chosen.value });
  };
  const move = (step: number): void => {
    const { typed, position } = state.current;
    put({ typed, position: Math.max(0, Math.min(filterMatching(typed).length - 1, position + step)) });
  };

  useInput((input, key) => {
    if (key.ctrl && input === "c") done("interrupted");
    else if (key.escape) done("left");
    else if (key.return) acceptChoice();
    else if (key.upArrow) move(-1);
    else if (key.downArrow) move(1);
    else if (key.backspace || key.delete)
      put({ typed: applyInput(beginTyping(state.current.typed), "\b").text, position: 0 });
    else if (input && !key.ctrl && !key.meta) {
      const typed = applyInput(beginTyping(state.current.typed), input);
      put({ typed: typed.text, position: 0 });
      if (typed.entered) acceptChoice();
    }
  });

  const list = filterMatching(shown.typed);
  const first = Math.max(0, Math.min(shown.position - rows + 1, list.length - rows));
  const place = usePlace();
  const detail = (list[shown.position]?.detail?.(place.detail) ?? []).slice(0, place.lines);
  const choosing = (
    <Box flexDirection="column" {...(place.beside && detail.length > 0 && { width: place.list })}>
      {list.slice(first, first + rows).map((choice, index) => {
        const current = first + index === shown.position;
        return (
          <Text key={choice.value} wrap="truncate-end" {...(current && { color: inkColors.link })}>
            {current ? "❯ " : "  "}
            {choice.label}
          </Text>
        );
      })}
      {list.length === 0 && <Text dimColor>{"  nothing matches"}</Text>}
    </Box>
  );
  return (
    <Box flexDirection="column">
      <Text bold>
        {title} <Text color={inkColors.link}>{shown.typed}</Text>
      </Text>
      <Box flexDirection={place.beside ? "row" : "column"}>
        {choosing}
        {detail.length > 0 && (
          // Ink keeps the room of a border that is taken away, so another place is another element.
          <Detail key={String(place.beside)} lines={detail} beside={place.beside} width={place.detail} />
        )}
      </Box>
      <Text dimColor>type, ↑↓ · enter takes it · esc leaves</Text>
    </Box>
  );
}

/** Where the detail stands, also when the terminal gets another size. */
function usePlace() {
  const { stdout } = useStdout();
  const [place, setPlace] = useState(() => arrangeDetail(stdout.columns ?? 80, stdout.rows ?? 24));
  useEffect(() => {
    const follow = (): void => setPlace(arrangeDetail(stdout.columns ?? 80, stdout.rows ?? 24));
    stdout.on("resize", follow);
    return () => void stdout.off("resize", follow);
  }, [stdout]);
  return place;
}

/** What is known of the current choice, set apart from the list by a line. */
function Detail({ lines, beside, width }: { lines: string[]; beside: boolean; width: number }) {
  const border = { borderStyle: "single", borderDimColor: true, borderRight: false, borderBottom: false } as const;
  return (
    <Box
      flexDirection="column"
      {...border}
      borderTop={!beside}
      borderLeft={beside}
      {...(beside && { paddingLeft: 1, width: width + 2 })}
    >
      {[...lines.entries()].map(([place, line]) => (
        <Text key={place} wrap="truncate-end">
          {line || " "}
        </Text>
      ))}
    </Box>
  );
}
