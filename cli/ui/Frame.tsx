import { Box, Text, useInput } from "ink";
import { useEffect, useState } from "react";

/** Hands over the lines that are shown from now on. */
export type Frames = (show: (lines: string[]) => void) => void;
type Props = { frames: Frames; hint: string; stop(how: "left" | "interrupted"): void };

/** Lines that are drawn anew as they change, until somebody has seen enough. */
export function Frame({ frames, hint, stop }: Props) {
  const [lines, setLines] = useState<string[]>([]);
  useEffect(() => frames(setLines), [frames]);
  useInput((input, key) => {
    if (key.ctrl && input === "c") stop("interrupted");
    else if (input === "q" || key.escape) stop("left");
  });
  return (
    <Box flexDirection="column">
      {/* Lines have no name, and each is its own place. */}
      {[...lines.entries()].map(([place, line]) => (
        <Text key={place} wrap="truncate-end">
          {line || " "}
        </Text>
      ))}
      <Text dimColor wrap="truncate-end">
        {hint}
      </Text>
    </Box>
  );
}
