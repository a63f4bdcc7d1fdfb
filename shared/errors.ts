/** Every error name the API can answer with, and its status. The names are wire contract: clients switch on them (API-20). */
export const statusOf = {
  PaymentError: 400,
  BadRequest: 400,
  NotASeatBasedSubscription: 400,
  RevokeSubscriptionBenefitsProhibited: 400,
  PaymentMethodSetupFailed: 400,
  SeatNotAvailable: 400,
  SeatAlreadyAssigned: 400,
  SeatsAlreadyAssigned: 400,
  InvalidInvitationToken: 400,
  PaymentMethodInUseByActiveSubscription: 400,
  RotateNotPermitted: 400,
  Unauthorized: 401,
  invalid_token: 401,
  CustomerSessionCodeInvalidOrExpired: 401,
  CustomerEmailUpdateInvalidOrExpired: 401,
  PaymentFailed: 402,
  MissingPaymentMethod: 402,
  NotPermitted: 403,
  AlreadyCanceledSubscription: 403,
  UpdateSubscriptionNotAllowed: 403,
  FeatureNotEnabled: 403,
  PauseResumeNotAllowed: 403,
  InactiveSubscription: 403,
  CannotCreateOrganizationError: 403,
  insufficient_scope: 403,
  CheckoutForbiddenError: 403,
  EmbedHostNotAllowed: 403,
  NotOpenCheckout: 403,
  AlreadyActiveSubscriptionError: 403,
  PaymentNotReady: 403,
  RefundsBlocked: 403,
  RefundedAlready: 403,
  RefundDisputedPayment: 403,
  DiscountRedemptionLimitReached: 403,
  TrialAlreadyRedeemed: 403,
  ResourceNotFound: 404,
  RefundUnknownPayment: 404,
  RequestTimeout: 408,
  ResourceAlreadyExists: 409,
  AmbiguousExternalCustomerID: 409,
  CheckoutLocked: 409,
  SubscriptionLocked: 409,
  QuoteChanged: 409,
  MaximumAmountExceeded: 409,
  CheckoutCustomerDeleted: 409,
  OrderNotEligibleForInvoice: 409,
  PaymentAlreadyInProgress: 409,
  PaymentMethodRequired: 409,
  DisputeNotOpenError: 409,
  IdempotencyKeyInUse: 409,
  CatalogPlanStale: 409,
  CatalogRefused: 409,
  SandboxBusy: 409,
  OrganizationHeld: 409,
  ArchiveRefused: 409,
  ImportRefused: 409,
  ExpiredCheckoutError: 410,
  ResourceUnavailable: 410,
  LengthRequired: 411,
  PreconditionFailed: 412,
  RequestBodyTooLarge: 413,
  UnsupportedMediaType: 415,
  RequestValidationError: 422,
  PolarRequestValidationError: 422,
  MissingInvoiceBillingDetails: 422,
  OrderNotEligibleForRetry: 422,
  CheckoutCustomerExternalIdMismatch: 422,
  TooManyRequests: 429,
  ManualRetryLimitExceeded: 429,
  InternalServerError: 500,
  SDKValidationError: 502,
  ServiceUnavailable: 503,
  PaymentsHeld: 503,
} as const;
export type ErrorName = keyof typeof statusOf;

/** Money is held: the books of the seller break a rule, so nothing is charged or refunded until that is settled (RST-10). */
export const rejectHeldMoney = (): ApiError =>
  new ApiError(
    "PaymentsHeld",
    "The payments of this seller are stopped, because its books are being checked. Nothing was charged or refunded. Try again later.",
    { "Retry-After": "60" },
  );

/** The account side's code of an error: its message in capitals. */
export const getCode = (message: string): string =>
  message
    .toUpperCase()
    .replace(/[^A-Z0-9_\s]/g, "")
    .trim()
    .replace(/\s+/g, "_");

/** One fault of a 422: where (`["body", "prices", 0, "price_amount"]`), what, and a machine name for it. */
export type Fault = { loc: (string | number)[]; msg: string; type: string; input?: unknown };

/** What is said of a fault has an end, however much was sent: so many faults, texts so long, and all of them together. */
export const faultsMax = 100;
const faultsLengthMax = 60_000;
const [sentence_length_max, place_length_max, places_max, input_length_max] = [2000, 100, 30, 200];
/** An answer of the wrong shape may have many issues, each of several lines. */
const report_length_max = 16_000;
/** A text that is no longer than so many characters, and no half of one at its end. */
export const truncateText = (text: string, length_max: number): string =>
  text.length <= length_max ? text : `${text.slice(0, length_max).toWellFormed()}…`;

function describeInput(input: unknown): Pick<Fault, "input"> {
  if (typeof input === "string") return { input: truncateText(input, input_length_max) };
  const text = input === undefined ? undefined : JSON.stringify(input);
  return text === undefined || text.length > input_length_max ? {} : { input };
}

function limitFaults(faults: readonly Fault[]): Fault[] {
  const told: Fault[] = [];
  let length = 0;
  for (const fault of faults.slice(0, faultsMax)) {
    const { loc, msg, input, ...rest } = fault;
    const one = {
      ...rest,
      loc: loc
        .slice(0, places_max)
        .map((part) => (typeof part === "string" ? truncateText(part, place_length_max) : part)),
      msg: truncateText(msg, sentence_length_max),
      ...describeInput(input),
    };
    length += JSON.stringify(one).length;
    if (told.length > 0 && length > faultsLengthMax) break;
    told.push(one);
  }
  return told;
}

/** Answered with a list of faults: every published client reads a 422 so, but for the one whose own document has a text. */
type WithFaults = "RequestValidationError" | "PolarRequestValidationError" | "CheckoutCustomerExternalIdMismatch";

/** An answer that is not a success. `detail` is a sentence, or the list of faults of a 422. */
export class ApiError<Name extends ErrorName = ErrorName> extends Error {
  readonly error: ErrorName;
  readonly detail: string | Fault[];
  readonly headers: Record<string, string>;
  /** What stands in the answer beside the error, for those who know to look for it. */
  readonly beside: Record<string, unknown>;
  constructor(
    error: Name,
    detail: Name extends WithFaults ? Fault[] : string,
    headers: Record<string, string> = {},
    beside: Record<string, unknown> = {},
  ) {
    const told =
      typeof detail === "string"
        ? truncateText(detail, error === "SDKValidationError" ? report_length_max : sentence_length_max)
        : limitFaults(detail);
    super(typeof told === "string" ? told : told.map((fault) => `${fault.loc.join(".")}: ${fault.msg}`).join("; "));
    this.name = error;
    this.error = error;
    this.detail = told;
    this.headers = headers;
    this.beside = beside;
  }
  get status(): number {
    return statusOf[this.error];
  }
}

/** 404 for an unknown, deleted or foreign row; the wire text never says which (API-22). */
export const notFound = () => new ApiError("ResourceNotFound", "Not found");
/** 403 for a caller who is known but may not. */
export const notPermitted = (detail = "Not permitted") => new ApiError("NotPermitted", detail);
/** 422 with the faults that a rule found; all of them together (API-28). */
export const invalid = (...faults: Fault[]) => new ApiError("PolarRequestValidationError", faults);
/** One fault at a place in the body. */
export const fault = (path: (string | number)[], msg: string, type = "value_error", input?: unknown): Fault => ({
  type,
  loc: ["body", ...path],
  msg,
  ...(input === undefined ? {} : { input }),
});
