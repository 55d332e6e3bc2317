declare module 'virtual:operations' {
  /**
   * The method and path of every public operation, indexed by contract name and operation name. Path parameters are in
   * braces.
   */
  export const operations: Readonly<Record<string, Readonly<Record<string, readonly [method: string, path: string]>>>>
}
