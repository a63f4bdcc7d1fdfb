import { Box, Static, Text } from "ink";
import { useEffect, useState } from "react";
import { Spinner } from "./Spinner.tsx";
import { inkColors } from "./theme.ts";

/** One line of a timeline. `tone` says whether it is good news. */
export type Moment = { id: string; at: string; text: string; tone: "good" | "bad" | "warn" | "none" };
/** Hands over what happened, and where time stands by then. */
export type Feed = (add: (moments: Moment[], now: string) => void) => void;

type Props = { feed: Feed; stop(): void };

/** What happens while time passes, line by line, over a wheel that says where it stands. */
export function Timeline({ feed, stop }: Props) {
  const [moments, setMoments] = useState<Moment[]>([]);
  const [now, setNow] = useState("");
  useEffect(() => {
    feed((more, time) => {
      setMoments((before) => [...before, ...more]);
      setNow(time);
    });
  }, [feed]);
  return (
    <>
      <Static items={moments}>
        {({ id, at, text, tone }) => (
          <Box key={id}>
            <Text dimColor>{at} </Text>
            <Text color={inkColors.link}>│ </Text>
            <Text {...(tone === "none" ? {} : { color: inkColors[tone] })}>{text}</Text>
          </Box>
        )}
      </Static>
      <Spinner label={now} stop={stop} />
    </>
  );
}
