import { Box, Static, Text, useStdout } from "ink";
import { useEffect, useState } from "react";
import { Spinner } from "./Spinner.tsx";
import { inkColors } from "./theme.ts";

/** One line of a timeline. `tone` says whether it is good news. */
export type Moment = { id: string; at: string; text: string; tone: "good" | "bad" | "warn" | "none" };
/** Hands over what happened, and where time stands by then, and says what it ended with. */
export type Feed<T> = (add: (moments: Moment[], now: string) => void) => Promise<T>;

type Props<T> = { feed: Feed<T>; done(end: T): void; stop(): void };

/** What happens while time passes, line by line, over a wheel that says where it stands. */
export function Timeline<T>({ feed, done, stop }: Props<T>) {
  const { columns } = useStdout().stdout;
  const [moments, setMoments] = useState<Moment[]>([]);
  const [now, setNow] = useState("");
  const [end, setEnd] = useState<{ value: T }>();
  useEffect(() => {
    void feed((more, time) => {
      setMoments((before) => [...before, ...more]);
      setNow(time);
    }).then((value) => setEnd({ value }));
  }, [feed]);
  // It ends when what came last has been drawn.
  useEffect(() => {
    if (end) done(end.value);
  }, [end, done]);
  return (
    <>
      <Static items={moments}>
        {({ id, at, text, tone }) => (
          <Box key={id} width={columns}>
            <Box flexShrink={0}>
              <Text dimColor>{at} </Text>
              <Text color={inkColors.link}>│ </Text>
            </Box>
            <Text {...(tone === "none" ? {} : { color: inkColors[tone] })}>{text}</Text>
          </Box>
        )}
      </Static>
      <Spinner label={now} stop={stop} />
    </>
  );
}
