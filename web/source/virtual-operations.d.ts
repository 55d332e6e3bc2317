declare module 'virtual:operations' {
  import type { Access } from '@millwright/api/contract.ts'

  /** By contract and operation: method, path with parameters in braces, who may call it. */
  export const operations: Readonly<
    Record<string, Readonly<Record<string, readonly [method: string, path: string, access: Access]>>>
  >
}
