import { Box, Text, useInput } from "ink";
import { useEffect, useRef, useState } from "react";
import type { Outcome, Question } from "./questions.ts";
import { inkColors } from "./theme.ts";
import { applyInput, beginTyping, moveCursor, type Typing } from "./typing.ts";

type Answers = Record<string, string>;
type Props = { title: string; questions: Question[]; done(outcome: Outcome<Answers>): void };

/** What stands at a question before anything is typed. */
const findFirstText = (question: Question | undefined): string =>
  question?.before?.text ?? question?.choices?.[0] ?? "";

/** Questions one under the other; each is checked before the next is asked. */
export function Form({ title, questions, done }: Props) {
  const [answers, setAnswers] = useState<Answers>({});
  const [at, setAt] = useState(0);
  const [shown, setShown] = useState(beginTyping(findFirstText(questions[0])));
  const [fault, setFault] = useState(questions[0]?.before?.fault);
  // Keys may come faster than frames: the text is kept where the next key finds it at once.
  const text = useRef(shown);
  const question = questions[at];

  const put = (next: Typing): void => {
    text.current = next;
    setShown(next);
    setFault(undefined);
  };
  const moveTo = (to: number, from: Answers): void => {
    setAt(to);
    const answered = from[questions[to]?.name ?? ""];
    put(beginTyping(answered ?? findFirstText(questions[to])));
    if (answered === undefined) setFault(questions[to]?.before?.fault);
  };
  const acceptAnswer = (): void => {
    if (!question) return;
    const wrong = question.check(text.current.text);
    if (wrong) {
      setFault(wrong);
      return;
    }
    const next = { ...answers, [question.name]: text.current.text };
    setAnswers(next);
    moveTo(at + 1, next);
  };
  const changeChoice = (step: number): void => {
    const { choices = [] } = question ?? {};
    if (choices.length > 0)
      put(beginTyping(choices[(choices.indexOf(text.current.text) + step + choices.length) % choices.length] ?? ""));
    else put(moveCursor(text.current, step));
  };

  const finished = at === questions.length;
  // After the last answer is on the screen, so that it stays there.
  useEffect(() => {
    if (finished) done({ value: answers });
  }, [finished, answers, done]);

  useInput((input, key) => {
    if (key.ctrl && input === "c") done("interrupted");
    else if (key.escape) done("left");
    else if (key.return) acceptAnswer();
    else if (key.upArrow) moveTo(Math.max(0, at - 1), answers);
    else if (key.leftArrow) changeChoice(-1);
    else if (key.rightArrow) changeChoice(1);
    else if (question?.choices) return;
    // Home and end, under both of their names.
    else if (key.home || (key.ctrl && input === "a")) put(moveCursor(text.current, Number.NEGATIVE_INFINITY));
    else if (key.end || (key.ctrl && input === "e")) put(moveCursor(text.current, Number.POSITIVE_INFINITY));
    else if (key.ctrl && input === "u") put(applyInput(text.current, "\u0015"));
    else if (key.backspace || key.delete) put(applyInput(text.current, "\b"));
    else if (input && !key.ctrl && !key.meta) {
      const typed = applyInput(text.current, input);
      put(typed);
      if (typed.entered) acceptAnswer();
    }
  });

  const before = [...shown.text].slice(0, shown.at).join("");
  const [under, ...after] = [...shown.text].slice(shown.at);
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
          {question.choices ? <Text color={inkColors.link}>‹ {shown.text} ›</Text> : before}
          {!question.choices && <Text inverse>{under ?? " "}</Text>}
          {!question.choices && after.join("")}
        </Text>
      )}
      {fault && <Text color={inkColors.bad}>{`  ${fault}`}</Text>}
      {!fault && question?.hint && <Text dimColor>{`  ${question.hint}`}</Text>}
    </Box>
  );
}
