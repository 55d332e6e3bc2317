import { useSearchState } from './search-state.ts'

/**
 * Returns whether the create dialog of a page is open, and a function that opens or closes the dialog. The state is
 * stored in the URL, so that the command palette can open the dialog.
 */
export function useCreateDialog(): [isOpen: boolean, setOpen: (isOpen: boolean) => Promise<void>] {
  const [search, setSearch] = useSearchState<'add'>()
  return [search.add !== undefined, (isOpen) => setSearch({ add: isOpen ? 'yes' : undefined })]
}
