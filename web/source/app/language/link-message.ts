/** The names of the status codes of gRPC, with which the gateway begins the error of an asset link. */
const statusCode =
  /\b(?:ABORTED|ALREADY_EXISTS|CANCELLED|DATA_LOSS|DEADLINE_EXCEEDED|FAILED_PRECONDITION|INTERNAL|INVALID_ARGUMENT|NOT_FOUND|OUT_OF_RANGE|PERMISSION_DENIED|RESOURCE_EXHAUSTED|UNAUTHENTICATED|UNAVAILABLE|UNIMPLEMENTED|UNKNOWN): (?=\S)/g

/** Returns a message of an asset link without status codes, which only the support needs. */
export function withoutStatusCode(message: string): string {
  return message.replace(statusCode, '')
}

/** The start of the message of each scan that an asset link ended. The state already shows that the scan failed. */
const linkError = /^The asset link ended the scan with an error: (?=\S)/

/** Returns why a job or a scan failed, without the parts of the message that its state already shows. */
export function reasonOf(message: string): string {
  return withoutStatusCode(message).replace(linkError, '')
}

/** Returns the first sentence of a text. A list has no room for the advice in the others. */
export function firstSentence(text: string): string {
  return /^(.+?)\. (?=[A-Z])/.exec(text)?.[1] ?? text
}

/** Returns whether a run failed because of its settings, for example an invalid address range. Another run fails in the same way. */
export function isInvalidSettings(message: string | undefined): boolean {
  return /\bINVALID_ARGUMENT: /.test(message ?? '')
}
