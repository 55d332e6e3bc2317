/** The names of the status codes of gRPC, with which the gateway begins the error of an asset link. */
const statusCode =
  /\b(?:ABORTED|ALREADY_EXISTS|CANCELLED|DATA_LOSS|DEADLINE_EXCEEDED|FAILED_PRECONDITION|INTERNAL|INVALID_ARGUMENT|NOT_FOUND|OUT_OF_RANGE|PERMISSION_DENIED|RESOURCE_EXHAUSTED|UNAUTHENTICATED|UNAVAILABLE|UNIMPLEMENTED|UNKNOWN): (?=\S)/g

/** Returns a message of an asset link without status codes, which only the support needs. */
export function withoutStatusCode(message: string): string {
  return message.replace(statusCode, '')
}
