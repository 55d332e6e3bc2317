import { Problem } from '@millwright/api/problem.ts'
import type { updates } from '@millwright/api/updates.ts'
import type { Context, Handlers } from '../../platform/service.ts'

export function artefactHandlers(
  _context: Context,
): Pick<
  Handlers<typeof updates>,
  'createArtefact' | 'listArtefacts' | 'readArtefact' | 'updateArtefact' | 'deleteArtefact' | 'putSignature'
> {
  const missing = async (): Promise<never> => {
    throw new Problem('unavailable', 'Not available yet')
  }
  return {
    createArtefact: missing,
    listArtefacts: missing,
    readArtefact: missing,
    updateArtefact: missing,
    deleteArtefact: missing,
    putSignature: missing,
  }
}
