declare module 'virtual:operations' {
  /** The method and path of every public operation, by contract and operation name. Path parameters are in braces. */
  export const operations: Readonly<Record<string, Readonly<Record<string, readonly [method: string, path: string]>>>>
}
