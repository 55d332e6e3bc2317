/**
 * This file stores the file of the last preview in memory, so that the user can change its columns without choosing the
 * file again. After a reload of the page the file is not available.
 */

let previewed: { importId: string; file: File } | undefined

export function setPreviewedFile(importId: string, file: File): void {
  previewed = { importId, file }
}

/** Returns the file of a preview if it is the last one. */
export function previewedFile(importId: string | undefined): File | undefined {
  return previewed?.importId === importId ? previewed?.file : undefined
}
