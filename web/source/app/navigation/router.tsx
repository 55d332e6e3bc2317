import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router'
import { lazy } from 'react'
import { Loading } from '../../components/feedback/loading.tsx'
import { Shell } from '../shell/shell.tsx'
import type { Area, AreaRoute } from './area.ts'
import { areas } from './areas.ts'
import { basePath } from './base-path.ts'
import { NotFoundPage } from './not-found-page.tsx'
import { PageError } from './page-error.tsx'
import { PermissionGuard } from './permission-guard.tsx'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFoundPage })

function pageOf(area: Area, { path, load, permission }: AreaRoute) {
  const Page = lazy(async () => ({ default: await load() }))
  const permissions = permission === undefined ? area.permissions : [permission]
  const guarded = () => (
    <PermissionGuard title={area.title} permissions={permissions}>
      <Page />
    </PermissionGuard>
  )
  return createRoute({
    getParentRoute: () => root,
    path: [area.path, path].filter((part) => part !== '' && part !== '/').join('/') || '/',
    component: guarded,
    loader: async () => {
      await load()
    },
  })
}

/** Returns the routes that redirect from the paths of former pages. */
function redirectsOf({ path: to, formerPaths = [] }: Area) {
  return formerPaths.map(({ path, searchOf = () => ({}) }) =>
    createRoute({
      getParentRoute: () => root,
      path,
      beforeLoad: ({ search }) => {
        throw redirect({ to, search: searchOf(search as Record<string, unknown>) as never, replace: true })
      },
    }),
  )
}

export const router = createRouter({
  routeTree: root.addChildren(
    areas.flatMap((area) => [...area.routes.map((route) => pageOf(area, route)), ...redirectsOf(area)]),
  ),
  basepath: basePath,
  defaultPendingComponent: Loading,
  defaultErrorComponent: PageError,
  // When the user hovers over a link, the code of its page is preloaded. The data is loaded only when the page opens.
  defaultPreload: 'intent',
  scrollRestoration: true,
})
