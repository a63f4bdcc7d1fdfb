import { Box, Text, useInput } from "ink";
import { useRef, useState } from "react";
import type { Choice, Outcome } from "./questions.ts";
import { inkColors } from "./theme.ts";
import { applyInput, beginTyping } from "./typing.ts";

type Props = { title: string; choices: Choice[]; done(outcome: Outcome<string>): void };

/** How many choices stand on the screen at once. */
const rows = 10;

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
  return (
    <Box flexDirection="column">
      <Text bold>
        {title} <Text color={inkColors.link}>{shown.typed}</Text>
      </Text>
      {list.slice(first, first + rows).map((choice, index) => {
        const current = first + index === shown.position;
        return (
          <Text key={choice.value} {...(current && { color: inkColors.link })}>
            {current ? "❯ " : "  "}
            {choice.label}
          </Text>
        );
      })}
      {list.length === 0 && <Text dimColor>{"  nothing matches"}</Text>}
      <Text dimColor>↑↓ choose · enter takes it · esc leaves</Text>
    </Box>
  );
}
