import { useCallback, useState } from "react";

/** Answers a function with which work that is awaited fails the page, as an error while drawing would (`Boundary`). */
export function useFailure(): (error: unknown) => void {
  const [, setState] = useState<undefined>();
  return useCallback(
    (error) =>
      setState(() => {
        throw error;
      }),
    [],
  );
}
