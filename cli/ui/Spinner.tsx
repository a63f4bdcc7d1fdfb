import { Text, useInput } from "ink";
import { useEffect, useState } from "react";
import { inkColors } from "./theme.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 100;

type Props = { label: string; stop(): void };

/** A turning wheel with how long it has been turning. */
export function Spinner({ label, stop }: Props) {
  const [turns, setTurns] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTurns((count) => count + 1), frameMs);
    return () => clearInterval(timer);
  }, []);
  // The terminal is in raw mode while Ink reads it, so Ctrl-C comes as a key and not as a signal.
  useInput((input, key) => {
    if (key.ctrl && input === "c") stop();
  });
  const seconds = Math.trunc((turns * frameMs) / 1000);
  return (
    <Text>
      <Text color={inkColors.link}>{frames[turns % frames.length]}</Text> {label} <Text dimColor>{seconds} s</Text>
    </Text>
  );
}
