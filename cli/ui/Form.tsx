import { Box, Text, useInput } from "ink";
import { useState } from "react";
import { inkColors } from "./theme.ts";

/** One thing to be asked. `check` answers what is wrong with a text, or undefined. */
export type Question = {
  name: string;
  label: string;
  hint: string;
  choices?: string[];
  check(text: string): string | undefined;
};

type Props = {
  title: string;
  questions: Question[];
  done(answers: Record<string, string> | "left" | "interrupted"): void;
};

/** Questions one under the other; each is checked before the next is asked. */
export function Form({ title, questions, done }: Props) {
  const [answers, setAnswers] = useState<Record<string, string>>({});
  const [at, setAt] = useState(0);
  const [text, setText] = useState(questions[0]?.choices?.[0] ?? "");
  const [fault, setFault] = useState<string>();
  const question = questions[at];

  const go = (to: number, from: Record<string, string>): void => {
    setAt(to);
    setFault(undefined);
    setText(from[questions[to]?.name ?? ""] ?? questions[to]?.choices?.[0] ?? "");
  };
  const take = (): void => {
    if (!question) return;
    const wrong = question.check(text);
    if (wrong) {
      setFault(wrong);
      return;
    }
    const next = { ...answers, [question.name]: text };
    setAnswers(next);
    if (at + 1 === questions.length) done(next);
    else go(at + 1, next);
  };
  const turn = (step: number): void => {
    const { choices = [] } = question ?? {};
    if (choices.length === 0) return;
    setText(choices[(choices.indexOf(text) + step + choices.length) % choices.length] ?? text);
  };

  useInput((input, key) => {
    if (key.ctrl && input === "c") return done("interrupted");
    if (key.escape) return done("left");
    if (key.return) return take();
    if (key.upArrow) return at > 0 ? go(at - 1, answers) : undefined;
    if (key.leftArrow) return turn(-1);
    if (key.rightArrow) return turn(1);
    if (question?.choices) return undefined;
    setFault(undefined);
    if (key.ctrl && input === "u") return setText("");
    if (key.backspace || key.delete) return setText((before) => before.slice(0, -1));
    // A paste comes as one input; a line end in it is not a second answer.
    if (input && !key.ctrl && !key.meta) setText((before) => before + input.replace(/[\r\n]+/g, " "));
    return undefined;
  });

  return (
    <Box flexDirection="column">
      <Text bold>{title}</Text>
      {questions.slice(0, at).map(({ name, label }) => (
        <Text key={name}>
          <Text color={inkColors.good}>✔</Text> {label} <Text dimColor>{answers[name]}</Text>
        </Text>
      ))}
      {question && (
        <Text>
          <Text color={inkColors.link}>?</Text> {question.label}{" "}
          {question.choices ? <Text color={inkColors.link}>‹ {text} ›</Text> : text}
          {!question.choices && <Text inverse> </Text>}
        </Text>
      )}
      {fault ? (
        <Text color={inkColors.bad}> {fault}</Text>
      ) : question?.hint ? (
        <Text dimColor> {question.hint}</Text>
      ) : null}
    </Box>
  );
}
