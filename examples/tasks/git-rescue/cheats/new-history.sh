#!/bin/bash
# A new repository with the same files and subjects.
cd /app/pond || exit 1
rm -rf .git
export GIT_AUTHOR_NAME=Nell GIT_AUTHOR_EMAIL=nell@pond.invalid GIT_COMMITTER_NAME=Nell GIT_COMMITTER_EMAIL=nell@pond.invalid
git init -q -b main .
git add -A
git commit -q -m 'Feed three times a day'
git tag -a -m 'First pond that works' v1.1
git branch release/1.2
