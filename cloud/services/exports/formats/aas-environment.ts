import { type AasOptions, shellOf, submodelsOf } from './aas.ts'
import type { ExportedAsset } from './exported-asset.ts'
import { textParts } from './text-parts.ts'

/** Reads the assets from the first one. It is called twice. */
export type AssetReader = () => AsyncIterable<ExportedAsset>

/**
 * Writes an environment in the JSON serialization: all shells, then all submodels. The assets are therefore read twice, so
 * that neither the writer nor a reader keeps an environment in memory. An asset that is created between the two readings is
 * left out, so that every submodel has its shell. Only ids stay in memory.
 */
export function aasJson(readAssets: AssetReader, options: AasOptions): AsyncGenerator<string> {
  return textParts(environmentTexts(readAssets, options))
}

async function* environmentTexts(readAssets: AssetReader, options: AasOptions): AsyncGenerator<string> {
  const ids = new Set<string>()
  for await (const asset of readAssets()) {
    const id = String(asset.document.id)
    if (ids.has(id)) continue
    yield `${ids.size === 0 ? '{"assetAdministrationShells":[' : ','}\n${JSON.stringify(shellOf(asset, options))}`
    ids.add(id)
  }
  // An environment cannot contain empty lists.
  if (ids.size === 0) {
    yield '{}\n'
    return
  }
  let start = '\n],"submodels":['
  for await (const asset of readAssets()) {
    if (!ids.delete(String(asset.document.id))) continue
    for (const submodel of submodelsOf(asset, options)) {
      yield `${start}\n${JSON.stringify(submodel)}`
      start = ','
    }
  }
  yield '\n]}\n'
}
