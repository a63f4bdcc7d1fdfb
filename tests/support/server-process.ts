/** `floe serve` from its sources, with the settings of the environment. */
import "../../shared/walls.ts";
import { serve } from "../../server/app/main.ts";

await serve();
