/** Every error name the API can answer with, and its status. The names are wire contract: clients switch on them (API-20). */
export const statusOf = {
  PaymentError: 400,
  Unauthorized: 401,
  invalid_token: 401,
  NotPermitted: 403,
  CannotCreateOrganizationError: 403,
  insufficient_scope: 403,
  CheckoutForbiddenError: 403,
  EmbedHostNotAllowed: 403,
  NotOpenCheckout: 403,
  AlreadyActiveSubscriptionError: 403,
  PaymentNotReady: 403,
  ResourceNotFound: 404,
  ResourceAlreadyExists: 409,
  CheckoutLocked: 409,
  CheckoutCustomerDeleted: 409,
  OrderNotEligibleForInvoice: 409,
  PaymentAlreadyInProgress: 409,
  IdempotencyKeyInUse: 409,
  CatalogPlanStale: 409,
  CatalogRefused: 409,
  ExpiredCheckoutError: 410,
  LengthRequired: 411,
  RequestBodyTooLarge: 413,
  UnsupportedMediaType: 415,
  RequestValidationError: 422,
  PolarRequestValidationError: 422,
  MissingInvoiceBillingDetails: 422,
  CheckoutCustomerExternalIdMismatch: 422,
  TooManyRequests: 429,
  InternalServerError: 500,
  ServiceUnavailable: 503,
} as const;
export type ErrorName = keyof typeof statusOf;

/** One fault of a 422: where (`["body", "prices", 0, "price_amount"]`), what, and a machine name for it. */
export type Fault = { loc: (string | number)[]; msg: string; type: string; input?: unknown };

/** An answer that is not a success. `detail` is a sentence, or the list of faults of a 422. */
export class ApiError extends Error {
  readonly error: ErrorName;
  readonly detail: string | Fault[];
  readonly headers: Record<string, string>;
  constructor(error: ErrorName, detail: string | Fault[], headers: Record<string, string> = {}) {
    super(
      typeof detail === "string" ? detail : detail.map((fault) => `${fault.loc.join(".")}: ${fault.msg}`).join("; "),
    );
    this.name = error;
    this.error = error;
    this.detail = detail;
    this.headers = headers;
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
