import { useEffect, useState } from "react";
import { type Methods, signing } from "../auth-client.ts";

const usual: Methods = {
  password: true,
  username: false,
  anonymous: false,
  providers: [],
  signUp: { password: true, providers: false },
  fields: [],
};

/** Which ways of signing in there are; undefined until it is known. A server that does not say has the usual one. */
export function useMethods(): Methods | undefined {
  const [methods, setMethods] = useState<Methods>();
  useEffect(() => {
    void signing.methods().then((answer) => setMethods(answer.ok ? answer.value : usual));
  }, []);
  return methods;
}
