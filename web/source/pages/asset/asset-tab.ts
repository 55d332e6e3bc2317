import type { Asset } from '../assets/model/asset.ts'

export type AssetTabProps = { asset: Asset; at: string | undefined; canWrite: boolean }
