import { Box, Text, useInput } from "ink";
import { useState } from "react";
import { inkColors } from "./theme.ts";

/** One thing to pick. */
export type Choice = { value: string; label: string };

type Props = { title: string; choices: Choice[]; done(answer: { value: string } | "left" | "interrupted"): void };

/** How many choices stand on the screen at once. */
const rows = 10;

/** A list to pick one from, by arrows or by typing its beginning. */
export function Select({ title, choices, done }: Props) {
  const [typed, setTyped] = useState("");
  const [position, setPosition] = useState(0);
  const shown = choices.filter(({ label, value }) => `${label} ${value}`.toLowerCase().includes(typed.toLowerCase()));
  const current = shown[position] ?? shown[0];
  const first = Math.max(0, Math.min(position - rows + 1, shown.length - rows));
  useInput((input, key) => {
    if (key.ctrl && input === "c") return done("interrupted");
    if (key.escape) return done("left");
    if (key.return) {
      if (current) done({ value: current.value });
      return;
    }
    if (key.upArrow) return setPosition((at) => Math.max(0, at - 1));
    if (key.downArrow) return setPosition((at) => Math.min(shown.length - 1, at + 1));
    setPosition(0);
    if (key.backspace || key.delete) return setTyped((text) => text.slice(0, -1));
    if (input && !key.ctrl && !key.meta) setTyped((text) => text + input);
  });
  return (
    <Box flexDirection="column">
      <Text bold>
        {title} <Text color={inkColors.link}>{typed}</Text>
      </Text>
      {shown.slice(first, first + rows).map((choice) => (
        <Text key={choice.value} {...(choice === current && { color: inkColors.link })}>
          {choice === current ? "❯ " : "  "}
          {choice.label}
        </Text>
      ))}
      {shown.length === 0 && <Text dimColor> nothing matches</Text>}
      <Text dimColor>↑↓ choose · enter takes it · esc leaves</Text>
    </Box>
  );
}
