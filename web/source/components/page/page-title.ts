import { useEffect } from 'react'

/** Sets the window title while a page is shown. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Millwright' : `${title} · Millwright`
  }, [title])
}
