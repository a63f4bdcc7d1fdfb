import { Box, Text, useInput, useStdout } from "ink";
import { useEffect, useReducer } from "react";
import type { Board, Key } from "../top/board.ts";

type Props = { board: Board; done(how: "left" | "interrupted"): void };

const keys: Record<string, Key> = { k: "up", j: "down", l: "list", o: "browser", q: "back" };

/** The lines of a board, drawn again as they change; every key is the board's. */
export function Dashboard({ board, done }: Props) {
  const { stdout } = useStdout();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => board.watch(redraw), [board]);
  useInput((input, key) => {
    const send = (name: Key | undefined): void => {
      if (name && !board.press(name)) done("left");
    };
    if (key.ctrl) {
      if (input === "c") done("interrupted");
    } else if (key.upArrow) send("up");
    else if (key.downArrow) send("down");
    else if (key.return) send("enter");
    else if (key.escape) send("back");
    else for (const letter of input) send(keys[letter]);
  });
  const lines = board.draw(stdout.columns || 80, stdout.rows || 24);
  return (
    <Box flexDirection="column">
      {/* Lines have no name, and each is its own place. */}
      {[...lines.entries()].map(([place, line]) => (
        <Text key={place} wrap="truncate">
          {line || " "}
        </Text>
      ))}
    </Box>
  );
}
