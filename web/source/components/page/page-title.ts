import { useEffect } from 'react'

/** The title of the window while a page is shown. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Millwright' : `${title} · Millwright`
  }, [title])
}
