import { Bar, CartesianGrid, ComposedChart, Line, ResponsiveContainer, Tooltip, XAxis, YAxis } from "recharts";
import type { NumberFormatters } from "./numbers.ts";

export type Point = { begins: string; value: number; before: number | undefined };
type Props = {
  points: Point[];
  isStanding: boolean;
  writing: NumberFormatters;
  description: string;
  /** What the period before is called. */
  earlier: string;
};

/** What the value under the pointer, or under the arrow keys, is. It is read out. */
function Tip({ point, writing, earlier }: Pick<Props, "writing" | "earlier"> & { point: Point | undefined }) {
  return (
    <div className="tip" role="status">
      {point && (
        <>
          <p className="soft small">{point.begins}</p>
          <p className="money">{writing.full(point.value)}</p>
          {point.before !== undefined && (
            <p className="soft small">
              {earlier}: {writing.full(point.before)}
            </p>
          )}
        </>
      )}
    </div>
  );
}

const height = 176;
const text = { fill: "var(--ink-soft)", fontSize: 12 };

/** The course of a metric, with that of the period before as a broken line. The arrow keys go from value to value. */
export default function Chart({ points, isStanding, writing, description, earlier }: Props) {
  return (
    <ResponsiveContainer width="100%" height={height}>
      <ComposedChart
        data={points}
        accessibilityLayer
        aria-label={description}
        margin={{ top: 8, right: 8, bottom: 0, left: 0 }}
      >
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis dataKey="begins" tick={text} tickLine={false} stroke="var(--edge)" minTickGap={32} />
        <YAxis
          width={60}
          tick={text}
          tickLine={false}
          axisLine={false}
          tickCount={4}
          tickFormatter={(value: number) => writing.short(value)}
        />
        <Tooltip
          isAnimationActive={false}
          cursor={{ stroke: "var(--edge)", fill: "var(--note-ground)" }}
          content={({ active, payload }) => (
            <Tip
              point={active ? (payload?.[0]?.payload as Point | undefined) : undefined}
              writing={writing}
              earlier={earlier}
            />
          )}
        />
        {isStanding ? (
          <Line dataKey="value" stroke="var(--accent)" strokeWidth={2} dot={false} isAnimationActive={false} />
        ) : (
          <Bar dataKey="value" fill="var(--accent)" maxBarSize={32} isAnimationActive={false} />
        )}
        <Line
          dataKey="before"
          stroke="var(--edge)"
          strokeWidth={1.5}
          strokeDasharray="4 4"
          dot={false}
          activeDot={false}
          isAnimationActive={false}
        />
      </ComposedChart>
    </ResponsiveContainer>
  );
}
