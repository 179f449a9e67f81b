"""Stages of a user's own, for the experiment beside this file. Its bytes are in the keys of the cache: do not edit."""


def overlap(query, texts):
    return [float(len(set(query.split()) & set(text.lower().split()))) for text in texts]


def letters(texts):
    return [[text.lower().count(sign) + 0.01 for sign in "abcdefghijklmnopqrstuvwxyz"] for text in texts]
